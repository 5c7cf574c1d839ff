package interlock

import "sync"

// ahead bounds the bytes of answers that are read ahead of the program, all of them together. A
// server resets the call of an answer that is not read for 30 s, and counts what is unread. So a
// program that takes its time for each entity of a search has it read for it.
type ahead struct {
	mu          sync.Mutex
	read        *sync.Cond // broadcast whenever something was read, or has come
	bytesMax    int
	unreadBytes int
}

func newAhead(bytesMax int) *ahead {
	made := &ahead{bytesMax: bytesMax}
	made.read = sync.NewCond(&made.mu)
	return made
}

// answerAhead are the events of one answer that have come.
type answerAhead struct {
	*ahead
	events       []*event
	failure      error
	ended, isOff bool
}

// pass reads an answer by receive, and gives its events to yield until that returns false.
func (a *ahead) pass(receive func(put func(*event) bool) error, yield func(*event) bool) error {
	answer := &answerAhead{ahead: a}
	defer answer.leave()
	go func() { answer.end(receive(answer.put)) }()
	for {
		next, failure := answer.next()
		if next == nil {
			return failure
		}
		if !yield(next) {
			return errStopped
		}
	}
}

// put adds an event once there is room for it. It returns false when no more are wanted. Each
// answer may have one: the loop over another answer may be waiting for it.
func (a *answerAhead) put(e *event) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.isOff && len(a.events) > 0 && a.unreadBytes+sizeOf(e) > a.bytesMax {
		a.read.Wait()
	}
	if a.isOff {
		return false
	}
	a.events = append(a.events, e)
	a.unreadBytes += sizeOf(e)
	a.read.Broadcast()
	return true
}

func (a *answerAhead) end(failure error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failure, a.ended = failure, true
	a.read.Broadcast()
}

// next waits for the next event. Without one, it returns how the answer ended.
func (a *answerAhead) next() (*event, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.events) == 0 && !a.ended {
		a.read.Wait()
	}
	if len(a.events) == 0 {
		return nil, a.failure
	}
	first := a.events[0]
	a.events = a.events[1:]
	a.unreadBytes -= sizeOf(first)
	a.read.Broadcast()
	return first, nil
}

// leave drops what was not read, and wakes up what would add to it.
func (a *answerAhead) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.isOff = true
	for _, e := range a.events {
		a.unreadBytes -= sizeOf(e)
	}
	a.events = nil
	a.read.Broadcast()
}
