// Package api has the requests, answers, error codes and operations of the server.
//
// All but this file is generated from the server's protocol by `go generate ./...`.
// Programs reach the operations through a client of the package interlock.
//
// Documents and other free JSON are [JSON]: raw text, so that numbers keep their digits.
// Optional members are pointers where their zero value means something; [Ptr] makes one.
package api

//go:generate go run ../internal/generate -root ../../.. -target .

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
)

// JSON is a JSON value as text. It keeps the digits of its numbers.
type JSON = json.RawMessage

// Ptr returns a pointer to a value, for optional members of requests.
func Ptr[T any](value T) *T { return &value }

// Code names what went wrong with a request. It is an error itself, so that
// errors.Is(err, api.CodeConflict) says whether a request failed with that code.
type Code string

type codeInfo struct {
	meaning   string
	status    int
	retryable bool
}

func (c Code) Error() string { return string(c) }

// Meaning says what the code means and what to do; it is empty for an unknown code.
func (c Code) Meaning() string { return codes[c].meaning }

// Status is the HTTP status that belongs to the code, 0 for an unknown code.
func (c Code) Status() int { return codes[c].status }

// Retryable reports whether requests that failed with this code may succeed later.
func (c Code) Retryable() bool { return codes[c].retryable }

// Request is the payload of a request.
type Request interface {
	// EventType names the type of the event.
	EventType() string
}

// Event is one event of a streamed answer.
type Event struct {
	Type string
	Data JSON
}

// Caller sends requests.
type Caller interface {
	// Call sends a request and decodes its one answer.
	Call(ctx context.Context, eventType string, payload, answer any, options ...CallOption) error
	// Stream sends a request and returns the events of its answer. Outside of a transaction it is a
	// call of its own.
	Stream(ctx context.Context, eventType string, payload any, options ...CallOption) iter.Seq2[Event, error]
	// Listen does the same on a call of its own, for an answer without an end.
	Listen(ctx context.Context, eventType string, payload any, options ...CallOption) iter.Seq2[Event, error]
}

// IsStreamed reports whether a request of a type is answered by several events.
func IsStreamed(eventType string) bool { return streamed[eventType] }

// CallOption changes how a request is sent.
type CallOption func(*CallOptions)

// CallOptions are what the options of a request have set.
type CallOptions struct {
	// IdempotencyKey is nil without one.
	IdempotencyKey *string
}

// Operations has a method for each operation of the server.
type Operations struct {
	caller Caller
}

// NewOperations returns the operations of a server that the caller reaches.
func NewOperations(caller Caller) Operations { return Operations{caller} }

func decode[T any](event Event) (*T, error) {
	var answer T
	if err := json.Unmarshal(event.Data, &answer); err != nil {
		return nil, fmt.Errorf("interlock: cannot read the %s: %w", event.Type, err)
	}
	return &answer, nil
}

func unexpected(event Event) error {
	return fmt.Errorf("interlock: %s is not an answer to this request", event.Type)
}

func decoded[T any](events iter.Seq2[Event, error], read func(Event) (*T, error)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for event, err := range events {
			var answer *T
			if err == nil {
				answer, err = read(event)
			}
			if !yield(answer, err) || err != nil {
				return
			}
		}
	}
}
