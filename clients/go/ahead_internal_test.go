package interlock

import (
	"errors"
	"testing"
	"time"

	"interlock.internal/interlock/api/cloudevents"
)

// text returns an event with so many bytes of data.
func text(bytes int) *event {
	return &event{Data: &cloudevents.CloudEvent_TextData{TextData: string(make([]byte, bytes))}}
}

func TestAnswersAreReadAheadWithinABound(t *testing.T) {
	bounded := newAhead(100)
	put := make(chan int, 100)
	ended := errors.New("ended")
	receive := func(add func(*event) bool) error {
		for i := range 10 {
			if !add(text(40)) {
				break
			}
			put <- i
		}
		close(put)
		return ended
	}
	read := 0
	err := bounded.pass(receive, func(*event) bool {
		if read == 0 {
			// Two more fit, and another answer may have one nevertheless.
			for range 3 {
				<-put
			}
			select {
			case i := <-put:
				t.Errorf("event %d does not fit", i)
			case <-time.After(20 * time.Millisecond):
			}
			other := 0
			_ = bounded.pass(func(add func(*event) bool) error { add(text(200)); return nil }, func(*event) bool {
				other++
				return true
			})
			if other != 1 {
				t.Errorf("another answer had %d events", other)
			}
		}
		read++
		return true
	})
	if read != 10 || !errors.Is(err, ended) || bounded.unreadBytes != 0 {
		t.Errorf("%d were read, %d bytes are left: %v", read, bounded.unreadBytes, err)
	}
}

func TestWhatIsReadAheadEndsWithItsReader(t *testing.T) {
	bounded := newAhead(100)
	stopped := make(chan struct{})
	receive := func(add func(*event) bool) error {
		for add(text(60)) {
		}
		close(stopped)
		return nil
	}
	err := bounded.pass(receive, func(*event) bool { return false })
	<-stopped
	if !errors.Is(err, errStopped) || bounded.unreadBytes != 0 {
		t.Errorf("%d bytes are left: %v", bounded.unreadBytes, err)
	}
}
