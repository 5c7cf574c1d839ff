package interlock

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestATextIsCutBetweenCharacters(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 20), strings.Repeat("日", 20), strings.Repeat("😀", 20)} {
		for size := 8; size < 24; size++ {
			cut := bounded(text, size)
			if len(cut) > size || !utf8.ValidString(cut) || !strings.HasSuffix(cut, "…") {
				t.Errorf("cut at %d, it is %q", size, cut)
			}
		}
	}
	if cut := bounded("short", 5); cut != "short" {
		t.Errorf("it is %q", cut)
	}
	if cut := bounded(strings.Repeat("\x80", 20), 10); len(cut) > 10 {
		t.Errorf("it is %q", cut)
	}
}
