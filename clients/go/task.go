package interlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"interlock.internal/interlock/api"
)

const (
	typeTask         = "TaskCalculationRequest"
	typeTaskResponse = "TaskCalculationResponse"
	typeTaskCancel   = "TaskCancelEvent"
)

// Task is what an action knows besides its context, and what it may do.
type Task struct {
	// Tx reads and writes in the transaction in which the outcome of the step is committed. A
	// failure, a timeout and a lost connection discard what it wrote.
	Tx Session
	// Outside sends requests outside the transaction.
	Outside Session
	Name    string
	// Input is that of the step.
	Input api.JSON
	// ID is the same for every delivery of the task.
	ID string
	// Attempt counts from 1.
	Attempt   int64
	Namespace string
	// RunID and Step are empty if the action was invoked without a run.
	RunID string
	Step  string
	// Definition is nil if the action was invoked without a run.
	Definition *api.TaskCalculationRequestDefinition
	Deadline   time.Time
	// IdempotencyKey is the same until one of the executions of the step is answered. What is
	// done elsewhere, or outside the transaction, should carry a key that is made of it.
	IdempotencyKey string
	// Parameters is the `context` of the action, as it was registered.
	Parameters string
	Caller     Caller

	warnings
	requestID string
	// isConnectorCall is set for a call of a saga: how it has ended matters also if it was cancelled.
	isConnectorCall bool
}

// Outcome is the result of an action whose outcome is not "success"; the transitions of the
// step name it.
type Outcome struct {
	Name string
	// Output is anything that json.Marshal encodes, commonly an object.
	Output any
}

// Pending is the result of an action that has begun what ends later. The task stays open
// until its outcome is reported with TaskComplete or TaskFail, from anywhere. What was written
// in its transaction is committed.
type Pending struct {
	Output any
}

// Decode reads the input into a value. Numbers that go into values of the type any become
// json.Number.
func (t *Task) Decode(into any) error {
	if err := decodeExactly(t.Input, into); err != nil {
		return fmt.Errorf("interlock: cannot read the input of %s: %w", t.Name, err)
	}
	return nil
}

// Touch moves the deadline and reports how far the work is.
func (t *Task) Touch(ctx context.Context, request *api.TaskTouchRequest) (*api.TaskTouchResponse, error) {
	copied := *request
	copied.TaskID = t.ID
	return t.Outside.TaskTouch(ctx, &copied)
}

func readTask(on *stream, received *event) (*Task, error) {
	var read api.TaskCalculationRequest
	if err := json.Unmarshal(dataOf(received), &read); err != nil {
		return nil, err
	}
	return &Task{
		Tx:      newSession(newTransaction(on, attribute(received, attributeToken))),
		Outside: newSession(newTransaction(on, "")),
		Name:    read.Name, Input: read.Input, ID: read.TaskID, Attempt: read.Attempt,
		Namespace: read.Namespace, RunID: read.RunID, Step: read.Step, Definition: read.Definition,
		Deadline: read.Deadline, IdempotencyKey: read.IdempotencyKey, Parameters: read.Context,
		Caller: callerOf(received), requestID: read.RequestID,
		isConnectorCall: read.Kind == "connector",
	}, nil
}

func (t *Task) about() (kind, string) { return kindAction, t.Name }

func (t *Task) responseType() string { return typeTaskResponse }

func (t *Task) done(result any) (map[string]any, error) {
	name, output := "success", result
	switch chosen := result.(type) {
	case Outcome:
		name, output = chosen.Name, chosen.Output
	case Pending:
		name, output = "pending", chosen.Output
	}
	text, err := encode(output)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the output: %w", err)
	}
	if string(text) == "null" {
		text = []byte("{}")
	}
	return t.addTo(map[string]any{
		"requestId": t.requestID, "success": true, "outcome": name, "output": json.RawMessage(text),
	}), nil
}

func (t *Task) failed(err error) map[string]any {
	failure := map[string]any{"message": bounded(err.Error(), failureBytesMax)}
	var rejection *Rejection
	var refused *Error
	switch {
	case errors.As(err, &rejection) && rejection.Code != "":
		failure["code"] = bounded(rejection.Code, failureBytesMax)
	case errors.As(err, &refused):
		failure["code"] = string(refused.Code)
	}
	if isRetryable(err) {
		failure["retryable"] = true
	}
	return t.addTo(map[string]any{"requestId": t.requestID, "success": false, "error": failure})
}
