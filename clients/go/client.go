package interlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"interlock.internal/interlock/api"
)

// closeTimeout is how long closing waits for outstanding answers.
const closeTimeout = 10 * time.Second

// Client sends requests to a server, over one multiplexed stream.
//
// It may be used by any number of goroutines; their requests run side by side. When the
// stream is lost, requests that wait for an answer fail with [ErrConnectionLost], and the
// next request opens another one. Nothing is sent twice.
//
// A context that ends cancels the request on the server, which stops whatever it has not
// committed.
type Client struct {
	Session
	connection *connection
}

// New returns a client of the server whose gRPC port is at target, a host:port. It does not
// connect yet; see [Client.Connect].
func New(target string, options ...Option) (*Client, error) {
	made, err := newConnection(target, newConfig(options))
	if err != nil {
		return nil, fmt.Errorf("interlock: %w", err)
	}
	return &Client{Session: newSession(connectionAsker{made}), connection: made}, nil
}

// Connect waits until the server can be reached, for the connect timeout at most.
// Calling it is not necessary, but shows early that something is wrong.
func (c *Client) Connect(ctx context.Context) error { return c.connection.connect(ctx) }

// Close waits for outstanding answers, for 10 s at most, then disconnects.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.connection.shutDown(ctx)
}

// asker sends requests somewhere: on the stream of a connection, or in a transaction.
type asker interface {
	ask(ctx context.Context, request *event) (*answer, error)
	// stream gives the events of an answer to yield, until that returns false.
	stream(ctx context.Context, request *event, yield func(*event) bool) error
	// listen does the same for an answer without an end.
	listen(ctx context.Context, request *event, yield func(*event) bool) error
	connect(ctx context.Context) error
	pause(ctx context.Context, delay time.Duration) error
}

type connectionAsker struct{ *connection }

// Session is how requests are sent: the operations of a client, of a member outside its
// calls, or of a call in its transaction. The embedded [api.Operations] has a method for
// every operation of the server; the other methods are short forms of the most common ones.
type Session struct {
	api.Operations
	asker asker
}

func newSession(asker asker) Session {
	return Session{Operations: api.NewOperations(caller{asker}), asker: asker}
}

// Call sends a request of any type, and decodes its one answer into answer, which may be
// nil. The payload has no id; it is added.
func (s Session) Call(ctx context.Context, eventType string, payload, answer any, options ...api.CallOption) error {
	return caller{s.asker}.Call(ctx, eventType, payload, answer, options...)
}

// Stream sends a request of any type with a streamed answer, and returns its events.
// Leaving the loop early cancels the request.
//
// A client reads each streamed answer on a call of its own: requests in the loop do not wait for
// it. In the transaction of a call the answer shares the stream with those of other requests, so it
// has to be read within 10 s once 64 MiB of answers are unread.
func (s Session) Stream(ctx context.Context, eventType string, payload any, options ...api.CallOption) iter.Seq2[api.Event, error] {
	return caller{s.asker}.Stream(ctx, eventType, payload, options...)
}

// caller implements api.Caller.
type caller struct{ asker asker }

func (c caller) request(ctx context.Context, eventType string, payload any, options []api.CallOption) (*event, error) {
	request, err := newEvent(ctx, eventType, payload)
	if err != nil {
		return nil, err
	}
	var chosen api.CallOptions
	for _, option := range options {
		option(&chosen)
	}
	if key := chosen.IdempotencyKey; key != nil {
		setAttribute(request, attributeKey, *key)
	}
	return request, nil
}

func (c caller) Call(ctx context.Context, eventType string, payload, into any, options ...api.CallOption) error {
	request, err := c.request(ctx, eventType, payload, options)
	if err != nil {
		return err
	}
	waiting, err := c.asker.ask(ctx, request)
	if err != nil {
		return err
	}
	defer waiting.close()
	var first *event
	// A request that is answered by a stream has, for Call, its first event as the answer.
	first, err = waiting.next(ctx)
	if err != nil {
		return err
	}
	data := dataOf(first)
	if err := failureIn(data); err != nil {
		return err
	}
	if into == nil {
		return nil
	}
	if raw, isRaw := into.(*json.RawMessage); isRaw {
		*raw = data
		return nil
	}
	if err := decodeExactly(data, into); err != nil {
		return fmt.Errorf("interlock: cannot read the %s: %w", first.Type, err)
	}
	return nil
}

func (c caller) Stream(ctx context.Context, eventType string, payload any, options ...api.CallOption) iter.Seq2[api.Event, error] {
	return c.events(ctx, c.asker.stream, eventType, payload, options)
}

func (c caller) Listen(ctx context.Context, eventType string, payload any, options ...api.CallOption) iter.Seq2[api.Event, error] {
	return c.events(ctx, c.asker.listen, eventType, payload, options)
}

// send sends a request, and gives the events of its answer to yield until that returns false.
type send func(ctx context.Context, request *event, yield func(*event) bool) error

func (c caller) events(ctx context.Context, send send, eventType string, payload any, options []api.CallOption) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		request, err := c.request(ctx, eventType, payload, options)
		if err != nil {
			yield(api.Event{}, err)
			return
		}
		var failed error
		err = send(ctx, request, func(next *event) bool {
			one := api.Event{Type: next.Type, Data: dataOf(next)}
			if failed = failureIn(one.Data); failed != nil {
				return false
			}
			return yield(one, nil)
		})
		switch {
		case failed != nil:
			yield(api.Event{}, failed)
		case err != nil && !errors.Is(err, errStopped):
			yield(api.Event{}, err)
		}
	}
}
