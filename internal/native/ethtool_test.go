//go:build cgo && linux

package native

import (
	"encoding/binary"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inOwnNetwork runs the calling test again, alone, in a network namespace of its own, and reports whether this is that run.
func inOwnNetwork(t *testing.T) bool {
	const mark = "HOSTPING_TEST_OWN_NETWORK"
	if os.Getenv(mark) != "" {
		return true
	}
	self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	self.Env = append(os.Environ(), mark+"=1")
	self.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	output, err := self.CombinedOutput()
	for _, refused := range []error{syscall.EPERM, syscall.ENOSPC, syscall.EINVAL} {
		if pathError, ok := err.(*os.PathError); ok && pathError.Err == refused {
			t.Skipf("this system gives no network namespace: %v", err)
		}
	}
	require.NoError(t, err, "%s", output)
	if strings.Contains(string(output), "--- SKIP") {
		t.Skipf("%s", output)
	}
	return false
}

// netlink makes one rtnetlink request and returns the kernel's answer to it.
func netlink(t *testing.T, kind, flags uint16, body []byte) error {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	require.NoError(t, err)
	defer syscall.Close(fd)
	message := binary.NativeEndian.AppendUint32(nil, uint32(syscall.NLMSG_HDRLEN+len(body)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	message = binary.NativeEndian.AppendUint16(message, flags|syscall.NLM_F_REQUEST|syscall.NLM_F_ACK)
	message = append(append(message, make([]byte, 8)...), body...)
	require.NoError(t, syscall.Sendto(fd, message, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}))
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, 0)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, syscall.NLMSG_HDRLEN+4)
	if code := int32(binary.NativeEndian.Uint32(answer[syscall.NLMSG_HDRLEN:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}

func attribute(kind uint16, value []byte) []byte {
	out := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	out = append(binary.NativeEndian.AppendUint16(out, kind), value...)
	return append(out, make([]byte, (4-len(out)%4)%4)...)
}

// addVeth adds a pair of virtual netdevs with that many queues each.
func addVeth(t *testing.T, name, peer string, queues uint32) {
	t.Helper()
	const (
		iflaNumTxQueues, iflaNumRxQueues = 31, 32
		iflaInfoKind, iflaInfoData       = 1, 2
		vethInfoPeer                     = 1
	)
	link := func(name string) []byte {
		count := binary.NativeEndian.AppendUint32(nil, queues)
		out := append(make([]byte, syscall.SizeofIfInfomsg), attribute(syscall.IFLA_IFNAME, append([]byte(name), 0))...)
		return append(append(out, attribute(iflaNumTxQueues, count)...), attribute(iflaNumRxQueues, count)...)
	}
	info := append(attribute(iflaInfoKind, []byte("veth")), attribute(iflaInfoData, attribute(vethInfoPeer, link(peer)))...)
	err := netlink(t, syscall.RTM_NEWLINK, syscall.NLM_F_CREATE|syscall.NLM_F_EXCL, append(link(name), attribute(syscall.IFLA_LINKINFO, info)...))
	if err == syscall.EOPNOTSUPP || err == syscall.EPERM {
		t.Skipf("this kernel gives no veth netdev here: %v", err)
	}
	require.NoError(t, err)
}

func removeLink(t *testing.T, name string) {
	t.Helper()
	body := append(make([]byte, syscall.SizeofIfInfomsg), attribute(syscall.IFLA_IFNAME, append([]byte(name), 0))...)
	require.NoError(t, netlink(t, syscall.RTM_DELLINK, 0, body))
}

// setQueues changes how many receive and transmit queues are in use (ETHTOOL_SCHANNELS).
func setQueues(t *testing.T, name string, queues uint32) {
	t.Helper()
	const siocEthtool, ethtoolSetChannels = 0x8946, 0x3d
	channels := [9]uint32{0: ethtoolSetChannels, 5: queues, 6: queues}
	request := struct {
		name [16]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&channels)}
	copy(request.name[:], name)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), siocEthtool, uintptr(unsafe.Pointer(&request)))
	require.Zero(t, errno)
}

// Goal: names and values belong together through everything that may happen to a netdev. Method: a real driver, veth, whose set of
// statistics grows with its queues.
func TestEthtoolFollowsANetdevThroughItsChanges(t *testing.T) {
	if !inOwnNetwork(t) {
		return
	}
	ethtool, err := OpenEthtool("veth0")
	require.NoError(t, err)
	defer ethtool.Close()
	var stats EthtoolStats
	require.ErrorIs(t, ethtool.Read(t.Context(), &stats), StatusDeviceNotFound, "opened before it was there")

	addVeth(t, "veth0", "veth1", 4)
	setQueues(t, "veth0", 1)
	setQueues(t, "veth1", 1)
	require.NoError(t, ethtool.Read(t.Context(), &stats))
	assert.Equal(t, "veth", stats.Driver)
	assert.EqualValues(t, 1, stats.Generation)
	require.Len(t, stats.Values, len(stats.Names))
	assert.Contains(t, stats.Names, "peer_ifindex")
	few := len(stats.Names)
	peer, err := net.InterfaceByName("veth1")
	require.NoError(t, err)
	assert.EqualValues(t, peer.Index, stats.Values[0], "the first is peer_ifindex, and it is right")
	old := stats.Names

	require.NoError(t, ethtool.Read(t.Context(), &stats))
	assert.EqualValues(t, 1, stats.Generation)
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = ethtool.Read(t.Context(), &stats) }))

	setQueues(t, "veth0", 4)
	require.NoError(t, ethtool.Read(t.Context(), &stats))
	assert.EqualValues(t, 2, stats.Generation, "more queues, other names")
	assert.Greater(t, len(stats.Names), few)
	assert.Len(t, stats.Values, len(stats.Names))
	assert.Len(t, old, few, "names already given out stay")

	removeLink(t, "veth0")
	err = ethtool.Read(t.Context(), &stats)
	require.ErrorIs(t, err, StatusDeviceRemoved)
	assert.ErrorContains(t, err, "veth0: SIOCGIFINDEX: no netdev of that name")
	require.ErrorIs(t, ethtool.Read(t.Context(), &stats), StatusDeviceNotFound)

	addVeth(t, "veth0", "veth1", 4)
	require.NoError(t, ethtool.Read(t.Context(), &stats))
	assert.EqualValues(t, 3, stats.Generation, "another device of that name")

	removeLink(t, "veth0")
	addVeth(t, "veth0", "veth1", 4)
	require.NoError(t, ethtool.Read(t.Context(), &stats))
	assert.EqualValues(t, 4, stats.Generation, "replaced between two readings, with as many statistics")
}

// The NICs of the machine that runs the test, read beside what the kernel says elsewhere.
func TestEthtoolOfThisMachine(t *testing.T) {
	netdevs, err := net.Interfaces()
	require.NoError(t, err)
	read := 0
	for _, netdev := range netdevs {
		ethtool, err := OpenEthtool(netdev.Name)
		require.NoError(t, err)
		var stats EthtoolStats
		err = ethtool.Read(t.Context(), &stats)
		ethtool.Close()
		if err != nil {
			require.ErrorIs(t, err, StatusUnsupported, "%s: any netdev may be asked, without privilege", netdev.Name)
			continue
		}
		read++
		assert.Len(t, stats.Values, len(stats.Names), netdev.Name)
		driver, err := os.Readlink(filepath.Join("/sys/class/net", netdev.Name, "device/driver"))
		if err == nil {
			assert.Equal(t, filepath.Base(driver), stats.Driver, netdev.Name)
		}
		t.Logf("%s: driver %s, %d statistics", netdev.Name, stats.Driver, len(stats.Names))
	}
	t.Logf("%d of %d netdevs have statistics", read, len(netdevs))
}

func TestEthtoolRefusesNonsense(t *testing.T) {
	for _, name := range []string{"", "a_name_of_16_byte", "a\x00b"} {
		_, err := OpenEthtool(name)
		assert.Error(t, err, strconv.Quote(name))
	}
	ethtool, err := OpenEthtool("lo")
	require.NoError(t, err)
	require.ErrorIs(t, ethtool.Read(t.Context(), new(EthtoolStats)), StatusUnsupported)
	ethtool.Close()
	ethtool.Close()
	assert.ErrorIs(t, ethtool.Read(t.Context(), new(EthtoolStats)), os.ErrClosed)
}

func TestEthtoolLeavesNothing(t *testing.T) {
	before := 0
	for round := range 10_000 {
		ethtool, err := OpenEthtool("lo")
		require.NoError(t, err)
		require.Error(t, ethtool.Read(t.Context(), new(EthtoolStats)))
		ethtool.Close()
		if round == 100 {
			before = descriptors(t)
		}
	}
	assert.Eventually(t, func() bool { return descriptors(t) <= before }, waitFor, pollEvery)
}
