package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/yuuki/hostping/internal/suggest"
)

// oneOf is a flag that takes one of a few words.
type oneOf struct {
	value *string
	words []string
}

func newOneOf(value *string, initial string, words ...string) oneOf {
	*value = initial
	return oneOf{value, words}
}

func (o oneOf) String() string { return *o.value }
func (o oneOf) Type() string   { return strings.Join(o.words, "|") }
func (o oneOf) Set(text string) error {
	for _, word := range o.words {
		if text == word {
			*o.value = word
			return nil
		}
	}
	return errors.New(suggest.For(text, o.words))
}

// share is a flag that takes a share of a whole, above 0 and below 1.
type share struct{ value *float64 }

func newShare(value *float64, initial float64) share {
	*value = initial
	return share{value}
}

func (s share) String() string { return strconv.FormatFloat(*s.value, 'g', -1, 64) }
func (s share) Type() string   { return "share" }
func (s share) Set(text string) error {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value > 0 && value < 1) || strings.ContainsAny(text, "xX") {
		return errors.New("it is a share, a number above 0 and below 1; write 20 % as 0.2")
	}
	*s.value = value
	return nil
}

// countFlag is a flag that takes a whole number from 1 up to a bound.
type countFlag struct {
	value *int
	most  int
}

func newCount(value *int, initial, most int) countFlag {
	*value = initial
	return countFlag{value, most}
}

func (c countFlag) String() string { return strconv.Itoa(*c.value) }
func (c countFlag) Type() string   { return "count" }
func (c countFlag) Set(text string) error {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 || value > c.most {
		return fmt.Errorf("it is a whole number from 1 to %d", c.most)
	}
	*c.value = value
	return nil
}

// list is a flag that may be repeated, or hold several values between commas.
type list struct{ values *[]string }

func (l list) String() string { return strings.Join(*l.values, ",") }
func (l list) Type() string   { return "list" }
func (l list) Set(text string) error {
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			return errors.New("an empty entry")
		}
		*l.values = append(*l.values, item)
	}
	return nil
}
