package interlock

import (
	"strings"
	"unicode/utf8"
)

// What a handler says may be of any size, such as the output of a program that failed. It is cut,
// because the server ends the whole stream, with all other calls, for a message that is too large.
const (
	failureBytesMax = 64 << 10
	warningsMax     = 1000
	warningBytesMax = 4 << 10
	loggedBytesMax  = 4 << 10
)

// bounded returns a text that has no more bytes than that. It ends between two characters.
func bounded(text string, bytesMax int) string {
	const more = "…"
	if len(text) <= bytesMax {
		return text
	}
	end := bytesMax - len(more)
	for range utf8.UTFMax - 1 { // in a text that is not UTF-8 there may be no beginning at all
		if utf8.RuneStart(text[end]) {
			break
		}
		end--
	}
	return strings.Clone(text[:end]) + more // what is cut off may be large
}
