package interlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"interlock.internal/interlock/api"
)

// callInFlight is how many requests of one call are sent before they are answered. The server
// works on those of one transaction one after the other anyway.
const callInFlight = 16

const (
	callPrefix = "Entity"
	callSuffix = "CalculationRequest"
)

// Caller is who caused a call.
type Caller struct {
	// Kind is "user", "service" or "system".
	Kind  string
	ID    string
	Roles []string
}

// Transition is the transition that a call is a part of. Its names are empty where there is
// none: for the criterion by which a workflow is chosen.
type Transition struct {
	Name string
	From string
	To   string
}

// Call is what a processor, criterion or schedule function knows, and what it may do.
type Call struct {
	// Entity is the entity in the state before the transition; a criterion is given it as it
	// would be written. It is nil only for handlers registered with [Detached].
	*Entity
	// Tx reads and writes in the transaction that the call is a part of: it sees what the
	// transaction has written so far, and what it writes is committed or rolled back together
	// with that. Outside a transaction it works outside one, too.
	Tx Session
	// Name is what is called, as the workflow names it.
	Name string
	// EntityID is known also if the entity is not attached.
	EntityID string
	// Parameters is the `context` of what is called, as the workflow has it.
	Parameters    string
	Workflow      string
	Transition    Transition
	TransactionID string
	// DispatchKey is the same for every attempt of one call. What was done elsewhere under it
	// need not be done again.
	DispatchKey string
	Caller      Caller

	warnings
	kind      kind
	requestID string
}

// warnings are added to the answer of a call.
type warnings struct {
	mu      sync.Mutex
	texts   []string
	dropped int // how many were too many
}

// Warn adds a warning to what the caller gets, whether the call succeeds or not. Of one call
// 1,000 warnings are kept, and 4 KiB of each.
func (w *warnings) Warn(format string, arguments ...any) {
	text := bounded(fmt.Sprintf(format, arguments...), warningBytesMax)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.texts) < warningsMax {
		w.texts = append(w.texts, text)
	} else {
		w.dropped++
	}
}

func (w *warnings) addTo(payload map[string]any) map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := slices.Clone(w.texts)
	if w.dropped > 0 { // the last place says so
		texts[warningsMax-1] = fmt.Sprintf("%d more warnings were left out", w.dropped+1)
	}
	if len(texts) > 0 {
		payload["warnings"] = texts
	}
	return payload
}

// Verdict is the result of a criterion.
type Verdict struct {
	Holds bool
	// Reason says why it does not hold: it is stored with the decision and returned to the
	// caller. At most 2048 bytes of it are kept.
	Reason string
}

// Schedule is the result of a schedule function: when a transition is due. Set one of FireAt
// and FireAfter, and at most one of ExpireAt and ExpireAfter. Times are rounded up to
// milliseconds.
type Schedule struct {
	// FireAt is when the transition is taken; at once, if that time has passed.
	FireAt time.Time
	// FireAfter is how long from now it is taken.
	FireAfter time.Duration
	// ExpireAt is when it is no longer taken.
	ExpireAt time.Time
	// ExpireAfter is how long after it was due it is no longer taken.
	ExpireAfter time.Duration
}

func (s Schedule) payload() (map[string]int64, error) {
	if s.FireAt.IsZero() == (s.FireAfter == 0) {
		return nil, errors.New("a schedule needs either FireAt or FireAfter")
	}
	if !s.ExpireAt.IsZero() && s.ExpireAfter != 0 {
		return nil, errors.New("a schedule may have one of ExpireAt and ExpireAfter")
	}
	result := map[string]int64{}
	for name, at := range map[string]time.Time{"fireAt": s.FireAt, "expireAt": s.ExpireAt} {
		if !at.IsZero() {
			result[name] = at.Add(time.Millisecond - 1).UnixMilli()
		}
	}
	for name, span := range map[string]time.Duration{"fireAfterMs": s.FireAfter, "expireAfterMs": s.ExpireAfter} {
		if span != 0 {
			result[name] = (span + time.Millisecond - 1).Milliseconds()
		}
	}
	return result, nil
}

// calculation is what the requests for processors, criteria and schedules have in common.
type calculation struct {
	RequestID     string                                          `json:"requestId"`
	EntityID      string                                          `json:"entityId"`
	ProcessorName string                                          `json:"processorName"`
	CriteriaName  string                                          `json:"criteriaName"`
	FunctionName  string                                          `json:"functionName"`
	Parameters    string                                          `json:"parameters"`
	TransactionID string                                          `json:"transactionId"`
	Workflow      api.EntityProcessorCalculationRequestWorkflow   `json:"workflow"`
	Transition    api.EntityProcessorCalculationRequestTransition `json:"transition"`
	Payload       *api.AttachedEntity                             `json:"payload"`
}

// kindOf returns what the type of an event calls; false if it is no call.
func kindOf(eventType string) (kind, bool) {
	name, isCall := strings.CutSuffix(strings.TrimPrefix(eventType, callPrefix), callSuffix)
	called := kind(name)
	return called, isCall && (called == kindProcessor || called == kindCriterion || called == kindSchedule)
}

func readCall(on *stream, received *event) (*Call, error) {
	kind, isCall := kindOf(received.Type)
	if !isCall {
		return nil, errors.New("this client does not know the type")
	}
	var read calculation
	if err := json.Unmarshal(dataOf(received), &read); err != nil {
		return nil, err
	}
	call := &Call{
		Tx:         newSession(newTransaction(on, attribute(received, attributeToken))),
		Name:       read.ProcessorName + read.CriteriaName + read.FunctionName,
		EntityID:   read.EntityID,
		Parameters: read.Parameters, Workflow: read.Workflow.Name,
		Transition:    Transition{Name: read.Transition.Name, From: read.Transition.StateFrom, To: read.Transition.StateTo},
		TransactionID: read.TransactionID,
		DispatchKey:   attribute(received, attributeDispatchKey),
		Caller:        callerOf(received),
		kind:          kind, requestID: read.RequestID,
	}
	if attached := read.Payload; attached != nil {
		meta := attached.Meta
		call.Entity = &Entity{
			ID: meta.ID, Model: Model(meta.ModelKey), State: meta.State, Data: attached.Data,
			TransactionID: meta.TransactionID, CreatedAt: meta.CreationDate, UpdatedAt: meta.LastUpdateTime,
		}
	}
	return call, nil
}

func callerOf(received *event) Caller {
	caller := Caller{Kind: attribute(received, "authtype"), ID: attribute(received, "authid")}
	if roles := attribute(received, "authclaims"); roles != "" {
		caller.Roles = strings.Split(roles, ",")
	}
	return caller
}

func (c *Call) about() (kind, string) { return c.kind, c.Name }

func (c *Call) responseType() string {
	return callPrefix + string(c.kind) + "CalculationResponse"
}

func (c *Call) done(result any) (map[string]any, error) {
	switch result.(type) {
	case Verdict, Schedule, Outcome, Pending:
		if c.kind == kindProcessor { // it may return anything
			return nil, fmt.Errorf("a processor returns the new document or nil, not %T", result)
		}
	}
	payload := map[string]any{"requestId": c.requestID, "entityId": c.EntityID, "success": true}
	switch result := result.(type) {
	case Verdict:
		payload["matches"] = result.Holds
		if result.Reason != "" && !result.Holds {
			payload["reason"] = result.Reason
		}
	case Schedule:
		schedule, err := result.payload()
		if err != nil {
			return nil, err
		}
		payload["resultKind"], payload["result"] = "Schedule", schedule
	case nil:
	default:
		document, err := encode(result)
		if err != nil {
			return nil, fmt.Errorf("cannot encode the document: %w", err)
		}
		if string(document) != "null" { // a nil map or pointer
			payload["payload"] = map[string]any{"type": "JSON", "data": json.RawMessage(document)}
		}
	}
	return c.addTo(payload), nil
}

func (c *Call) failed(err error) map[string]any {
	failure := map[string]any{"code": "CLIENT_ERROR", "message": bounded(err.Error(), failureBytesMax)}
	if errors.Is(err, errStopping) {
		failure["code"] = errStopping.Code
	}
	if isRetryable(err) {
		failure["retryable"] = true
	}
	return c.addTo(map[string]any{
		"requestId": c.requestID, "entityId": c.EntityID, "success": false, "error": failure,
	})
}

// transaction sends requests in the transaction of a call: on its stream, with its token.
type transaction struct {
	on   *stream
	lane *lane
}

func newTransaction(on *stream, token string) *transaction {
	if token == "" {
		return &transaction{on, on.lane}
	}
	return &transaction{on, newLane(callInFlight, token)}
}

func (t *transaction) ask(ctx context.Context, request *event) (*answer, error) {
	return t.on.ask(ctx, t.lane, request)
}

func (t *transaction) stream(ctx context.Context, request *event, yield func(*event) bool) error {
	return t.on.each(ctx, t.lane, request, yield)
}

func (t *transaction) listen(context.Context, *event, func(*event) bool) error {
	return &Error{
		Code:    CodeNotSupported,
		Message: "an endless answer cannot be part of a transaction; use a client",
	}
}

// connect does nothing: the stream is open, or has ended for good.
func (t *transaction) connect(context.Context) error { return nil }

// pause fails: when a stream is lost, so are its transactions.
func (t *transaction) pause(context.Context, time.Duration) error {
	if failure := t.on.ended(); failure != nil {
		return asLost(failure)
	}
	return connectionLost("the transaction has ended")
}
