package interlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	otelattribute "go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"interlock.internal/interlock/api"
)

// kind is what a workflow may call. The values are as in the types of the events.
type kind string

const (
	kindProcessor kind = "Processor"
	kindCriterion kind = "Criteria"
	kindSchedule  kind = "Function"
	kindAction    kind = "Action"
)

func (k kind) String() string {
	switch k {
	case kindCriterion:
		return "criterion"
	case kindSchedule:
		return "schedule"
	case kindAction:
		return "action"
	}
	return "processor"
}

// work is a call or a task.
type work interface {
	about() (kind, string)
	// done and failed make the payload of the response, and name its type.
	done(result any) (map[string]any, error)
	failed(err error) map[string]any
	responseType() string
}

type handler func(ctx context.Context, work work) (any, error)

// Rejection is a failure that a handler chose.
type Rejection struct {
	// Reason is returned to the caller.
	Reason string
	// Code is what a plan of a step workflow calls fatal or retryable; of actions only.
	Code string
	// Retryable lets the server try again, as the workflow or the action says.
	Retryable bool
}

func (r *Rejection) Error() string { return r.Reason }

// Reject returns an error with which a handler rejects a call. The text is returned to the
// caller of the server. A criterion that merely does not hold returns a [Verdict] instead.
func Reject(format string, arguments ...any) error {
	return &Rejection{Reason: fmt.Sprintf(format, arguments...)}
}

// Retry returns an error of a handler that may succeed if it is retried. The server retries,
// at another member if there is one, if the workflow says "retryPolicy": "FIXED"; an action as
// often as it was registered with.
func Retry(format string, arguments ...any) error {
	return &Rejection{Reason: fmt.Sprintf(format, arguments...), Retryable: true}
}

func isRetryable(err error) bool {
	var rejection *Rejection
	if errors.As(err, &rejection) {
		return rejection.Retryable
	}
	var failure *Error
	return errors.As(err, &failure) && failure.Retryable
}

// errStopping answers what is not begun any more, so that the server need not wait for the end
// of the stream to try another member.
var errStopping = &Rejection{Reason: "the member is stopping", Code: "MEMBER_STOPPING", Retryable: true}

// errCancelled answers a call of a saga that the server has cancelled.
var errCancelled = &Rejection{Reason: "the call was cancelled; it may have been done", Code: "CANCELLED"}

// errNoReturn is the failure of a handler that ended its goroutine, as runtime.Goexit does, and
// with it testing.T.FailNow.
var errNoReturn = errors.New("the handler ended its goroutine without returning")

// errGivenUp is the cause of the end of a handler's context.
var errGivenUp = errors.New("interlock: the server has given up the call")

func (m *Member) beginCall(on *stream, received *event) error {
	call, err := readCall(on, received)
	if err != nil {
		return err
	}
	ctx := traceContext.Extract(on.ctx, carrier{received})
	m.mu.Lock()
	// A running call waits for those that it has caused in its transaction: were they to wait
	// for its place, or to be left when the member stops, neither would ever end. The
	// transaction of a task is not known, so while there are tasks any may be one of those.
	isNested := call.TransactionID != "" && m.transactions[call.TransactionID] > 0
	if m.draining && !isNested && len(m.tasks) == 0 {
		m.mu.Unlock()
		m.answer(on, call, nil, errStopping)
		return nil
	}
	if !m.admit() {
		m.mu.Unlock()
		m.answer(on, call, nil, Retry("this member already has %d calls in flight", m.workMax()))
		return nil
	}
	if isNested {
		m.transactions[call.TransactionID]++
	}
	m.mu.Unlock()
	ctx, cancel := withTimeLimit(ctx, received)
	go func() {
		defer cancel()
		m.serveCall(ctx, on, call, isNested)
	}()
	return nil
}

// withTimeLimit ends a context when the server gives the call up.
func withTimeLimit(ctx context.Context, received *event) (context.Context, context.CancelFunc) {
	milliseconds, err := strconv.Atoi(attribute(received, attributeTimeLimit))
	if err != nil { // the server has sent none
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, time.Duration(milliseconds)*time.Millisecond, errGivenUp)
}

// isGivenUp reports whether the server has given up what a context is of: it expects no answer,
// but to a call of a saga.
func isGivenUp(ctx context.Context) bool { return context.Cause(ctx) == errGivenUp }

func (m *Member) serveCall(ctx context.Context, on *stream, call *Call, isNested bool) {
	if !isNested {
		select {
		case m.places <- struct{}{}:
		case <-ctx.Done():
			m.logNotBegun(ctx, call)
			m.release()
			return
		}
		m.mu.Lock()
		if call.TransactionID != "" {
			m.transactions[call.TransactionID]++
		}
		m.mu.Unlock()
	}
	leave := sync.OnceFunc(func() {
		m.leaveTransaction(call.TransactionID)
		if !isNested {
			<-m.places
		}
		m.release()
	})
	defer leave()
	if ctx.Err() != nil { // while it waited for its place
		m.logNotBegun(ctx, call)
		return
	}
	m.serveUntilGivenUp(ctx, on, call, leave)
}

func (m *Member) logNotBegun(ctx context.Context, call *Call) {
	if isGivenUp(ctx) {
		m.connection.log.DebugContext(ctx, "a call was not begun: its time was up", "kind", call.kind.String(), "name", call.Name)
	}
}

// serveUntilGivenUp answers with what a handler returns, unless the server has given the work up
// meanwhile. A handler that continues after that, or after its stream was lost, does not keep its
// place.
func (m *Member) serveUntilGivenUp(ctx context.Context, on *stream, work work, leave func()) {
	stop := context.AfterFunc(ctx, leave)
	defer stop()
	m.serve(ctx, work, func(result any, err error) {
		if isGivenUp(ctx) {
			m.answerGivenUp(on, work, result, err)
			return
		}
		m.answer(on, work, result, err)
	})
}

// answerGivenUp answers a call of a saga that was cancelled, when its handler has ended: the
// server undoes it if it was done, and repeats it if that is not known. It expects no answer to
// anything else.
func (m *Member) answerGivenUp(on *stream, work work, result any, err error) {
	task, isTask := work.(*Task)
	if !isTask || !task.isConnectorCall {
		return
	}
	if err != nil {
		err = errCancelled
	}
	m.answer(on, task, result, err)
}

// serve executes a handler and passes on what came out of it, even if it does not return.
func (m *Member) serve(ctx context.Context, work work, finish func(result any, err error)) {
	result, err := any(nil), errNoReturn
	defer func() { finish(result, err) }()
	result, err = m.execute(ctx, work)
}

func (m *Member) leaveTransaction(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.transactions[id]--; m.transactions[id] <= 0 {
		delete(m.transactions, id)
	}
}

func (m *Member) beginTask(on *stream, received *event) error {
	task, err := readTask(on, received)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(traceContext.Extract(on.ctx, carrier{received}))
	m.mu.Lock()
	if m.draining {
		m.mu.Unlock()
		cancel(nil)
		m.answer(on, task, nil, errStopping)
		return nil
	}
	if !m.admit() {
		m.mu.Unlock()
		cancel(nil)
		m.answer(on, task, nil, Retry("this member already has %d calls in flight", m.workMax()))
		return nil
	}
	m.tasks[task.requestID] = cancel
	m.mu.Unlock()
	go func() {
		defer cancel(nil)
		m.serveTask(ctx, on, task)
	}()
	return nil
}

func (m *Member) serveTask(ctx context.Context, on *stream, task *Task) {
	leave := func() {
		m.forgetTask(task.requestID)
		m.release()
	}
	select {
	case m.taskPlaces <- struct{}{}:
	case <-ctx.Done():
		leave()
		m.answerNotBegun(ctx, on, task)
		return
	}
	leavePlace := sync.OnceFunc(func() {
		<-m.taskPlaces
		leave()
	})
	defer leavePlace()
	if ctx.Err() != nil { // while it waited for its place
		m.answerNotBegun(ctx, on, task)
		return
	}
	m.serveUntilGivenUp(ctx, on, task, leavePlace)
}

func (m *Member) answerNotBegun(ctx context.Context, on *stream, task *Task) {
	if isGivenUp(ctx) {
		m.answerGivenUp(on, task, nil, errCancelled)
	}
}

func (m *Member) forgetTask(requestID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tasks, requestID)
}

// cancelTask ends the context of a task that the server has given up.
func (m *Member) cancelTask(received *event) error {
	var read api.TaskCancelEvent
	if err := json.Unmarshal(dataOf(received), &read); err != nil {
		return err
	}
	m.mu.Lock()
	cancel := m.tasks[read.RequestID]
	m.mu.Unlock()
	if cancel != nil {
		m.connection.log.Info("the server cancelled a task", "task", read.TaskID, "reason", read.Reason)
		cancel(errGivenUp)
	}
	return nil
}

// admit counts one more call, unless there are too many. The caller holds mu.
func (m *Member) admit() bool {
	if m.working >= m.workMax() {
		return false
	}
	m.working++
	return true
}

// workMax is how many calls and tasks may run or wait.
func (m *Member) workMax() int { return waitingMax + cap(m.places) + cap(m.taskPlaces) }

func (m *Member) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.working--; m.working == 0 && m.idle != nil {
		close(m.idle)
	}
}

var tracer = otel.Tracer("interlock.internal/interlock")

// execute runs the handler, in a span that continues the trace of the caller.
func (m *Member) execute(ctx context.Context, work work) (result any, err error) {
	kind, name := work.about()
	m.mu.Lock()
	known := m.handlers[handlerKey{kind, name}]
	m.mu.Unlock()
	if known.handle == nil {
		return nil, Retry("this member has no %s `%s`", kind, name)
	}
	if call, isCall := work.(*Call); isCall && call.Entity == nil && !known.detached {
		return nil, Reject("the workflow does not attach the entity to `%s`, which needs it", name)
	}
	ctx, span := tracer.Start(ctx, kind.String()+" "+name,
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(otelattribute.String("interlock.kind", kind.String()), otelattribute.String("interlock.name", name)))
	defer span.End()
	hasReturned := false
	defer func() {
		if panicked := recover(); panicked != nil {
			m.connection.log.ErrorContext(ctx, "a handler panicked",
				"kind", kind.String(), "name", name, "panic", panicked, "stack", string(debug.Stack()))
			result, err = nil, fmt.Errorf("panic: %v", panicked)
		} else if !hasReturned {
			m.connection.log.ErrorContext(ctx, "a handler ended its goroutine", "kind", kind.String(), "name", name)
			err = errNoReturn
		}
		if err != nil {
			span.SetStatus(otelcodes.Error, bounded(err.Error(), loggedBytesMax))
		}
	}()
	result, err = known.handle(ctx, work)
	hasReturned = true
	if err != nil {
		m.connection.log.InfoContext(ctx, "a handler failed", "kind", kind.String(), "name", name,
			"error", bounded(err.Error(), loggedBytesMax))
	}
	return result, err
}

// answer sends what came out of a handler. On a stream that has ended it is dropped: the
// transaction has ended with it.
func (m *Member) answer(on *stream, work work, result any, err error) {
	var payload map[string]any
	if err == nil {
		payload, err = m.encoded(work, result)
	}
	var response *event
	if err == nil {
		response, err = respond(on, work, payload)
	}
	if err != nil {
		payload = work.failed(err)
		response, err = respond(on, work, payload)
		if errors.Is(err, CodeMessageTooLarge) {
			// That it failed matters more than the warnings.
			delete(payload, "warnings")
			response, err = respond(on, work, payload)
		}
	}
	if err != nil {
		m.connection.log.Error("cannot send a failure", "error", err)
		return
	}
	on.send(response)
}

var requestIDIn = regexp.MustCompile(`"requestId"\s*:\s*"([^"\\]+)"`)

// answerUnread answers a call that cannot be read, if its id can: another member may be able to
// read it.
func (m *Member) answerUnread(on *stream, received *event, unread error) {
	_, isCall := kindOf(received.Type)
	found := requestIDIn.FindSubmatch(dataOf(received))
	if !isCall && received.Type != typeTask || found == nil {
		return
	}
	response, err := newEvent(on.ctx, strings.TrimSuffix(received.Type, "Request")+"Response", map[string]any{
		"requestId": string(found[1]), "success": false,
		"error": map[string]any{"message": bounded("this member cannot read the call: "+unread.Error(), failureBytesMax), "retryable": true},
	})
	if err != nil {
		m.connection.log.Error("cannot send a failure", "error", err)
		return
	}
	on.send(response)
}

// encoded makes the payload of a result, whose own methods may panic as well as the handler.
func (m *Member) encoded(work work, result any) (payload map[string]any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			kind, name := work.about()
			m.connection.log.Error("the result of a handler panicked",
				"kind", kind.String(), "name", name, "panic", panicked, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	return work.done(result)
}

// respond makes the event of an answer. One for which the server would end the stream is an error.
func respond(on *stream, work work, payload map[string]any) (*event, error) {
	response, err := newEvent(on.ctx, work.responseType(), payload)
	if err != nil {
		return nil, err
	}
	return response, checkSize(response, on.sizeMax)
}
