package main

import (
	"fmt"
	"math"
)

// tally counts the grades of one diagnosis over a row's runs.
type tally struct {
	Exact   int64 `json:"exact"`
	Offered int64 `json:"offered"`
	Missed  int64 `json:"missed"`
	Wrong   int64 `json:"wrong"`
}

func (t *tally) count(g grade) {
	for _, x := range []struct {
		yes bool
		n   *int64
	}{{g.exact, &t.Exact}, {g.offered, &t.Offered}, {g.missed, &t.Missed}, {g.wrong, &t.Wrong}} {
		if x.yes {
			*x.n++
		}
	}
}

func (t *tally) add(o tally) {
	t.Exact += o.Exact
	t.Offered += o.Offered
	t.Missed += o.Missed
	t.Wrong += o.Wrong
}

// z95 cuts 2.5 % off each end of the normal distribution.
const z95 = 1.959963984540054

// wilson is the 95 % confidence interval of a share by Wilson's score.
func wilson(k, n int64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	p, m := float64(k)/float64(n), float64(n)
	centre := p + z95*z95/(2*m)
	spread := z95 * math.Sqrt(p*(1-p)/m+z95*z95/(4*m*m))
	scale := 1 + z95*z95/m
	low, high = max(0, (centre-spread)/scale), min(1, (centre+spread)/scale)
	switch k { // and not what rounding leaves of them
	case 0:
		low = 0
	case n:
		high = 1
	}
	return low, high
}

// atMost is the one-sided 95 % upper bound of a share by Clopper and Pearson:
// where k or fewer of n would be seen once in twenty times. For k = 0 that is
// close to 3/n.
func atMost(k, n int64) float64 {
	if k >= n {
		return 1
	}
	low, high := float64(k)/float64(n), 1.0
	for range 60 {
		p := (low + high) / 2
		if atMostTail(k, n, p) > 0.05 {
			low = p
		} else {
			high = p
		}
	}
	return high
}

// atMostTail is the chance of k or fewer of n at a share of p in (0, 1).
func atMostTail(k, n int64, p float64) (sum float64) {
	all, _ := math.Lgamma(float64(n) + 1)
	for i := range k + 1 {
		chosen, _ := math.Lgamma(float64(i) + 1)
		others, _ := math.Lgamma(float64(n-i) + 1)
		sum += math.Exp(all - chosen - others + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// percent renders a share with its interval: "99.95 [99.90, 99.98]".
func percent(k, n int64) string {
	if n == 0 {
		return "-"
	}
	low, high := wilson(k, n)
	return fmt.Sprintf("%s [%s, %s]", figure(float64(k)/float64(n)), figure(low), figure(high))
}

// figure renders a share in percent. 100 and 0 mean all and none.
func figure(share float64) string {
	switch text := fmt.Sprintf("%.2f", 100*share); {
	case share == 1:
		return "100"
	case share == 0:
		return "0"
	case text == "100.00": // not all
		return "99.99"
	case text == "0.00":
		return fmt.Sprintf("%.1g", 100*share)
	default:
		return text
	}
}
