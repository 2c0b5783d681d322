package picture

import "strings"

// textWidth estimates how wide a line is in a sans-serif font of this size: a
// picture that stands alone cannot measure. It errs to the wide side.
func textWidth(text string, size int) int {
	hundredths := 0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljI.,:;'|!()[] ftr/·", r):
			hundredths += 32
		case strings.ContainsRune("mwMW@%", r):
			hundredths += 88
		case r >= 'A' && r <= 'Z':
			hundredths += 69
		case r > 0x2e80: // East Asian letters fill a square
			hundredths += 100
		default:
			hundredths += 57
		}
	}
	return (hundredths*size + 99) / 100
}

// fit cuts a line that is too long for its room; the tooltip has all of it.
func fit(text string, room, size int) string {
	if textWidth(text, size) <= room {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && textWidth(string(runes)+"…", size) > room {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ,:·") + "…"
}

// wrap breaks text between words into at most this many lines, and cuts the last one.
func wrap(text string, room, size, lines int) []string {
	var wrapped []string
	for words := strings.Fields(text); len(words) > 0; {
		n := 1
		for n < len(words) && textWidth(strings.Join(words[:n+1], " "), size) <= room {
			n++
		}
		if len(wrapped) == lines-1 {
			n = len(words)
		}
		wrapped = append(wrapped, fit(strings.Join(words[:n], " "), room, size))
		words = words[n:]
	}
	return wrapped
}

// sizeOf is the font size of a class.
func sizeOf(class string) int {
	switch {
	case strings.HasPrefix(class, "title"):
		return 16
	case strings.HasPrefix(class, "small"), strings.HasPrefix(class, "mono"), strings.HasPrefix(class, "tag"):
		return 11
	}
	return 12
}
