// Package sim is a simulated RDMA host: the topology of the paper's Fig. 2 or
// any other, the physics of its links, faults that change the physics, service
// traffic that takes its share, and seeded noise.
//
// It answers what a real host would be asked (probes, utilisations, settings)
// and concludes nothing: which path is slow and why is for the analyzer,
// which cannot tell a simulated host from a real one.
package sim
