package interlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"interlock.internal/interlock/api"
)

// drainNoticeTimeout is how long a member that stops waits until the server has taken note of it.
const drainNoticeTimeout = 2 * time.Second

// waitingMax is how many calls and tasks may wait, besides as many as may run at once; further ones
// are rejected as retryable.
const waitingMax = 1024

type (
	// ProcessorFunc changes an entity when a transition is taken. It returns the whole new
	// document (anything that json.Marshal turns into an object), or nil to leave the
	// document as it is. An error fails the transition; see [Reject] and [Retry].
	ProcessorFunc func(ctx context.Context, call *Call) (any, error)
	// CriterionFunc decides whether a criterion holds. An error is no decision: it fails the
	// whole request.
	CriterionFunc func(ctx context.Context, call *Call) (Verdict, error)
	// ScheduleFunc computes when a scheduled transition is due. An error fails the write after
	// which the transition would have been scheduled.
	ScheduleFunc func(ctx context.Context, call *Call) (Schedule, error)
	// ActionFunc does the work of a step of a step workflow. It returns the output (anything
	// that json.Marshal encodes, commonly an object, nil for an empty one), an [Outcome] with a
	// name of its own, or [Pending]. An error is the outcome "failure".
	ActionFunc func(ctx context.Context, task *Task) (any, error)
)

// Member serves the calls of one tenant: it executes processors, criteria, schedule functions
// and actions by their names.
//
// Register them, then call [Member.Run], or [Member.Join] and [Member.Shutdown]. The context
// of a handler ends when the call is given up: because the stream was lost, and with it the
// transaction, because the server cancelled the task, or because draining took too long. A handler
// that goes on then keeps no place.
//
// When the stream is lost the member joins again, however long it takes.
// The embedded [Session] sends requests on the stream of the member, outside its calls.
type Member struct {
	Session
	connection *connection

	mu           sync.Mutex
	handlers     map[handlerKey]registered
	transactions map[string]int // how many running calls are part of a transaction
	tasks        map[string]context.CancelCauseFunc
	working      int
	idle         chan struct{} // closed when working is 0; made by the one that waits
	draining     bool
	joined       bool

	places     chan struct{} // of calculations
	taskPlaces chan struct{} // a task may cause calculations, so it does not take their places
	ended      chan struct{} // closed when the member stops joining again
	failure    error         // why; written before ended is closed
}

type handlerKey struct {
	kind kind
	name string
}

// NewMember returns a member for the server whose gRPC port is at target, a host:port. It
// does not connect yet.
func NewMember(target string, options ...Option) (*Member, error) {
	c := newConfig(options)
	made, err := newConnection(target, c)
	if err != nil {
		return nil, fmt.Errorf("interlock: %w", err)
	}
	m := &Member{
		Session: newSession(connectionAsker{made}), connection: made,
		handlers: map[handlerKey]registered{}, transactions: map[string]int{},
		tasks:  map[string]context.CancelCauseFunc{},
		places: make(chan struct{}, c.concurrency), taskPlaces: make(chan struct{}, c.concurrency),
		ended: make(chan struct{}),
	}
	made.greet, made.receive = m.greet, m.receive
	return m, nil
}

// Processor registers the function that is the processor of that name.
func (m *Member) Processor(name string, function ProcessorFunc, options ...HandlerOption) {
	m.register(kindProcessor, name, func(ctx context.Context, work work) (any, error) {
		return function(ctx, work.(*Call))
	}, options...)
}

// Criterion registers the function that decides the function criterion of that name.
func (m *Member) Criterion(name string, function CriterionFunc, options ...HandlerOption) {
	m.register(kindCriterion, name, func(ctx context.Context, work work) (any, error) {
		return function(ctx, work.(*Call))
	}, options...)
}

// Schedule registers the function that computes when the scheduled transition of that
// function is due.
func (m *Member) Schedule(name string, function ScheduleFunc, options ...HandlerOption) {
	m.register(kindSchedule, name, func(ctx context.Context, work work) (any, error) {
		return function(ctx, work.(*Call))
	}, options...)
}

// Action registers the function that executes the action of that name. Register actions
// before the member joins, because joining announces their names.
func (m *Member) Action(name string, function ActionFunc) {
	m.register(kindAction, name, func(ctx context.Context, work work) (any, error) {
		return function(ctx, work.(*Task))
	})
}

// Workflow registers the function that does the items of managers whose worker names that
// workflow. It is given the payload of the item as its input, and is otherwise as an action.
// The member needs no tag of its own for it. Register workflows before the member joins.
func (m *Member) Workflow(code string, function ActionFunc) {
	m.Action(code, function)
	tag := "workflow:" + code
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.connection.tags, tag) {
		m.connection.tags = append(m.connection.tags, tag)
	}
}

// HandlerOption changes how a handler is registered.
type HandlerOption func(*registered)

// Detached registers a handler that works without the entity: the workflow may say
// attachEntity: false, and then [Call.Entity] is nil. Other handlers reject such calls.
func Detached() HandlerOption { return func(r *registered) { r.detached = true } }

// registered is a handler and what it needs.
type registered struct {
	handle   handler
	detached bool
}

func (m *Member) register(kind kind, name string, handle handler, options ...HandlerOption) {
	made := registered{handle: handle}
	for _, option := range options {
		option(&made)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.handlers[handlerKey{kind, name}] = made
}

// Run serves until the context ends; then it finishes running calls, for the drain timeout at
// most, and disconnects. While the server cannot be reached it continues trying. It returns
// nil when the context has ended, and an error when the server refuses this caller.
//
// End the context by signals for a clean stop: signal.NotifyContext(ctx, syscall.SIGTERM).
func (m *Member) Run(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	go m.stayJoined()
	select {
	case <-ctx.Done():
	case <-m.ended:
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.connection.drainTimeout)
	defer cancel()
	err := m.Shutdown(drain)
	return errors.Join(m.failure, err)
}

// Join joins within the connect timeout, and then serves in the background.
func (m *Member) Join(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	if _, err := m.connection.streamSoon(ctx); err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.joined = false
		if m.draining { // Shutdown may be waiting
			close(m.ended)
		}
		return err
	}
	go m.stayJoined()
	return nil
}

func (m *Member) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.joined || m.draining {
		return errors.New("interlock: a member joins once; make another one")
	}
	m.joined = true
	return nil
}

// Shutdown tells the server that this member takes no more calls, finishes the running ones until
// the context ends, cancels those that still run then, and disconnects. Calls that arrive
// nevertheless are answered at once with the retryable failure MEMBER_STOPPING.
func (m *Member) Shutdown(ctx context.Context) error {
	m.mu.Lock()
	m.draining = true
	if m.idle == nil {
		m.idle = make(chan struct{})
		if m.working == 0 {
			close(m.idle)
		}
	}
	idle, joined := m.idle, m.joined
	m.mu.Unlock()
	noticed := m.noticeDraining(ctx)
	select {
	case <-idle:
	case <-ctx.Done():
	}
	<-noticed
	err := m.connection.shutDown(ctx)
	if joined {
		<-m.ended
	}
	return err
}

// noticeDraining tells the server to send no more calls. The channel is closed when it has taken
// note of that, or has not for too long: then calls may still come, and are answered.
func (m *Member) noticeDraining(ctx context.Context) <-chan struct{} {
	noticed := make(chan struct{})
	open := m.connection.current.Load()
	if open == nil || open.ended() != nil || open.memberID == "" || ctx.Err() != nil {
		close(noticed)
		return noticed
	}
	ctx, cancel := context.WithTimeout(ctx, drainNoticeTimeout)
	go func() {
		defer close(noticed)
		defer cancel()
		// Not in the lane of the stream, whose places may be taken for longer than this waits.
		session := newSession(&transaction{open, newLane(1, "")})
		_, err := session.WorkerDrain(ctx, &api.WorkerDrainRequest{WorkerID: open.memberID})
		if err != nil {
			m.connection.log.Debug("the server took no note of the stopping", "error", err)
		}
	}()
	return noticed
}

// stayJoined opens a stream whenever there is none.
func (m *Member) stayJoined() {
	defer close(m.ended)
	for {
		open, err := m.connection.streamEventually(m.connection.ctx)
		if err != nil {
			if m.connection.ctx.Err() == nil {
				m.failure = fmt.Errorf("interlock: cannot join %s: %w", m.connection.target, err)
			}
			return
		}
		<-open.done
		m.mu.Lock()
		draining := m.draining
		m.mu.Unlock()
		if draining {
			return
		}
	}
}

// greet joins on a new stream.
func (m *Member) greet(ctx context.Context, made *stream) error {
	join, err := newEvent(ctx, typeJoin, m.announcement())
	if err != nil {
		return err
	}
	made.send(join)
	select {
	case greeting := <-made.greeting:
		data := dataOf(greeting)
		if err := failureIn(data); err != nil {
			return err
		}
		var read api.CalculationMemberGreetEvent
		if err := json.Unmarshal(data, &read); err != nil {
			return fmt.Errorf("interlock: cannot read the greeting: %w", err)
		}
		made.memberID = read.MemberID
		m.connection.log.InfoContext(ctx, "joined", "target", m.connection.target, "member", read.MemberID)
		return nil
	case <-made.done:
		return made.ended()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// announcement is what the server has to know of this member.
func (m *Member) announcement() *api.CalculationMemberJoinEvent {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.connection
	join := &api.CalculationMemberJoinEvent{Tags: slices.Clone(c.tags)}
	for key := range maps.Keys(m.handlers) {
		if key.kind == kindAction {
			join.Actions = append(join.Actions, key.name)
		}
	}
	if len(join.Actions) > 0 {
		slices.Sort(join.Actions)
		join.MaxConcurrency = api.Ptr(uint32(c.concurrency))
		join.Labels, join.Namespace = c.labels, c.namespace
	}
	return join
}

// receive is given every event of the server that answers no request.
func (m *Member) receive(on *stream, received *event) {
	var err error
	switch received.Type {
	case typeKeepAlive:
		err = m.acknowledge(on, received)
	case typeGreeting:
		select {
		case on.greeting <- received:
		default:
		}
	case typeTask:
		err = m.beginTask(on, received)
	case typeTaskCancel:
		err = m.cancelTask(received)
	case typeAcknowledgement:
		err = failureIn(dataOf(received))
	default:
		err = m.beginCall(on, received)
	}
	if err != nil {
		// One invalid event is no reason to end the stream.
		m.connection.log.Warn("cannot use an event of the server", "type", received.Type, "error", err)
		m.answerUnread(on, received, err)
	}
}

func (m *Member) acknowledge(on *stream, probe *event) error {
	var read api.CalculationMemberKeepAliveEvent
	if err := json.Unmarshal(dataOf(probe), &read); err != nil {
		return err
	}
	answer, err := newEvent(on.ctx, typeAcknowledgement, map[string]any{"sourceEventId": read.ID, "success": true})
	if err == nil {
		on.send(answer)
	}
	return err
}
