package interlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
)

const (
	// unreadBytesMax is how many bytes of answers may be unread before the stream is no
	// longer read, and the server waits.
	unreadBytesMax = 64 << 20
	// stallTimeout is how long that may last until the largest unread answer is dropped.
	// The patience of the server with a slow reader is 30 s.
	stallTimeout = 10 * time.Second
)

// lane bounds how many requests are unanswered. Most requests are in the lane of their
// stream. Those in the transaction of a call are in a lane of that call, because the
// others may be waiting for that very call.
type lane struct {
	places chan struct{}
	token  string
}

func newLane(places int, token string) *lane {
	return &lane{places: make(chan struct{}, places), token: token}
}

// outgoing is an event to send, and the answer that it expects, if any.
type outgoing struct {
	event  *event
	answer *answer
}

// stream is one open startStreaming call: any number of requests, and their answers.
type stream struct {
	call grpc.ClientStream
	// ctx ends with the stream; calls of the server on this stream end with it.
	ctx        context.Context
	cancel     context.CancelFunc
	receive    func(*stream, *event)
	lane       *lane
	sizeMax    int
	greeting   chan *event
	memberID   string // of the member that has joined on it; written before the stream is used
	wake, read chan struct{}
	done       chan struct{}

	mu          sync.Mutex
	outbox      []outgoing
	closing     bool
	pending     map[string]*answer
	unread      map[*answer]int
	unreadBytes int
	failure     error
}

func newStream(ctx context.Context, cancel context.CancelFunc, call grpc.ClientStream, c *config, receive func(*stream, *event)) *stream {
	return &stream{
		call: call, ctx: ctx, cancel: cancel, receive: receive,
		lane: newLane(c.inFlight, ""), sizeMax: c.messageBytesMax,
		greeting: make(chan *event, 1), wake: make(chan struct{}, 1), read: make(chan struct{}, 1),
		done: make(chan struct{}), pending: map[string]*answer{}, unread: map[*answer]int{},
	}
}

// serve reads and writes until the stream ends.
func (s *stream) serve() {
	go s.write()
	for {
		received := new(event)
		if err := s.call.RecvMsg(received); err != nil {
			s.end(err)
			return
		}
		s.take(received)
		s.waitForReaders()
	}
}

func (s *stream) end(err error) {
	failure := error(connectionLost("the stream was closed"))
	if !errors.Is(err, io.EOF) {
		failure = callFailure(err)
	}
	s.mu.Lock()
	s.failure = failure
	waiting := s.pending
	s.pending, s.outbox = map[string]*answer{}, nil
	for _, a := range waiting {
		if a.sent {
			a.fail(asLost(failure))
		} else {
			a.fail(asUnsent(failure))
		}
		<-a.lane.places
	}
	s.mu.Unlock()
	close(s.done)
	s.cancel()
}

// ended returns why the stream has ended, nil while it is open.
func (s *stream) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// write sends what is in the outbox. The reader finds out how a stream ended.
func (s *stream) write() {
	for {
		s.mu.Lock()
		batch, closing := s.outbox, s.closing
		s.outbox = nil
		for _, one := range batch {
			if one.answer != nil {
				one.answer.sent = true
			}
		}
		s.mu.Unlock()
		for _, one := range batch {
			if s.call.SendMsg(one.event) != nil {
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		if closing {
			_ = s.call.CloseSend()
			return
		}
		select {
		case <-s.wake:
		case <-s.done:
			return
		}
	}
}

// send puts an event into the outbox; on a stream that has ended it is dropped.
func (s *stream) send(e *event) { s.put(outgoing{event: e}) }

func (s *stream) put(one outgoing) {
	s.mu.Lock()
	if s.failure == nil {
		s.outbox = append(s.outbox, one)
	}
	s.mu.Unlock()
	signal(s.wake)
}

// closeAfterAnswers says that nothing more will be sent, and waits for the answers to what was.
func (s *stream) closeAfterAnswers(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	signal(s.wake)
	select {
	case <-s.done:
	case <-ctx.Done():
	}
	s.cancel()
}

// ask sends a request once there is a place for it.
func (s *stream) ask(ctx context.Context, l *lane, request *event) (*answer, error) {
	if l.token != "" {
		setAttribute(request, attributeToken, l.token)
	}
	if err := checkSize(request, s.sizeMax); err != nil {
		return nil, err
	}
	select {
	case l.places <- struct{}{}:
	case <-s.done:
		return nil, asUnsent(s.ended())
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	a := &answer{stream: s, id: request.Id, lane: l, arrived: make(chan struct{}, 1)}
	s.mu.Lock()
	if s.failure != nil {
		s.mu.Unlock()
		<-l.places
		return nil, asUnsent(s.ended())
	}
	s.pending[a.id] = a
	s.outbox = append(s.outbox, outgoing{request, a})
	s.mu.Unlock()
	signal(s.wake)
	return a, nil
}

// each sends a request, and gives the events of its answer to yield until that returns false.
func (s *stream) each(ctx context.Context, l *lane, request *event, yield func(*event) bool) error {
	waiting, err := s.ask(ctx, l, request)
	if err != nil {
		return err
	}
	defer waiting.close()
	for {
		next, err := waiting.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case next.Type == typeStreamEnd:
			return nil
		case !yield(next):
			return errStopped
		}
	}
}

func (s *stream) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *stream) take(received *event) {
	request := attribute(received, attributeRequestID)
	if request == "" {
		s.receive(s, received)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.pending[request]
	if a == nil {
		return
	}
	_, isMore := received.GetAttributes()[attributeSequence]
	if !isMore {
		delete(s.pending, request)
		a.complete = true
		<-a.lane.places
	}
	if !a.left {
		a.events = append(a.events, received)
		s.count(a, sizeOf(received))
	}
	signal(a.arrived)
}

// count notes that so many more bytes of an answer are unread, or fewer. The caller holds mu.
func (s *stream) count(a *answer, bytes int) {
	s.unreadBytes += bytes
	if s.unread[a] += bytes; s.unread[a] == 0 {
		delete(s.unread, a)
	}
}

// waitForReaders returns once the program has read enough of the answers.
func (s *stream) waitForReaders() {
	var stalled <-chan time.Time
	for {
		s.mu.Lock()
		enough := s.unreadBytes <= unreadBytesMax
		s.mu.Unlock()
		if enough {
			return
		}
		if stalled == nil {
			stalled = time.After(stallTimeout)
		}
		select {
		case <-s.read:
			stalled = nil
		case <-stalled:
			stalled = nil
			s.dropLargest()
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *stream) dropLargest() {
	s.mu.Lock()
	var largest *answer
	for a := range s.unread {
		if largest == nil || s.unread[a] > s.unread[largest] {
			largest = a
		}
	}
	if largest != nil {
		largest.fail(&Error{Code: CodeAnswerNotRead, Message: fmt.Sprintf("it was not read for %s", stallTimeout)})
	}
	s.mu.Unlock()
	if largest != nil {
		largest.close()
	}
}

// answer is the events that answer one request. Its members are guarded by the stream.
type answer struct {
	stream  *stream
	id      string
	lane    *lane
	arrived chan struct{}

	events               []*event
	sent, complete, left bool
	failure              error
}

// next waits for the next event. It returns io.EOF after the last.
func (a *answer) next(ctx context.Context) (*event, error) {
	for {
		a.stream.mu.Lock()
		if len(a.events) > 0 {
			first := a.events[0]
			a.events = a.events[1:]
			a.stream.count(a, -sizeOf(first))
			a.stream.mu.Unlock()
			signal(a.stream.read)
			return first, nil
		}
		failure, complete := a.failure, a.complete
		a.stream.mu.Unlock()
		if failure != nil {
			return nil, failure
		}
		if complete {
			return nil, io.EOF
		}
		select {
		case <-a.arrived:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// fail ends the answer. The caller holds the lock of the stream.
func (a *answer) fail(failure error) {
	a.failure = failure
	a.drop()
	signal(a.arrived)
}

func (a *answer) drop() {
	a.left = true
	for _, e := range a.events {
		a.stream.count(a, -sizeOf(e))
	}
	a.events = nil
}

// close drops what is unread, and cancels the request on the server if it is not answered.
// It is still answered then, and has its place until that.
func (a *answer) close() {
	a.stream.mu.Lock()
	a.drop()
	isPending := a.stream.pending[a.id] == a
	a.stream.mu.Unlock()
	signal(a.stream.read)
	if !isPending {
		return
	}
	cancel, err := newEvent(context.Background(), typeCancel, map[string]string{"requestId": a.id})
	if err == nil {
		a.stream.send(cancel)
	}
}

// signal wakes the one that waits for a channel with one place.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
