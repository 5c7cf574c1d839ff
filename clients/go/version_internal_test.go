package interlock

import "testing"

func TestVersionsAgreeInTheFirstNumberThatIsNotZero(t *testing.T) {
	for _, test := range []struct {
		one, other string
		agree      bool
	}{
		{"0.1.0", "0.1.9", true},
		{"0.2.0", "0.1.0", false},
		{"1.0.0", "0.1.0", false},
		{"1.7.3", "1.0.0", true},
		{"10.0.0", "1.0.0", false},
		{"0.1.0-rc.1+build", "0.1.0", true},
		{"0", "0.0.1", true},
	} {
		if agree := understood(test.one) == understood(test.other); agree != test.agree {
			t.Errorf("%s and %s: %v", test.one, test.other, agree)
		}
	}
}
