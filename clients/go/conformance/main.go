// Command conformance executes the commands of the conformance runner; see
// clients/conformance/README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
)

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err := newProgram(os.Stdout).run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

type object map[string]any

// command is a line of the runner.
type command struct {
	ID          int64           `json:"id"`
	Do          string          `json:"do"`
	As          string          `json:"as"`
	On          string          `json:"on"`
	Target      string          `json:"target"`
	Access      access          `json:"access"`
	Tags        []string        `json:"tags"`
	Concurrency int             `json:"concurrency"`
	Quiet       bool            `json:"quiet"`
	Handlers    []scripted      `json:"handlers"`
	Type        string          `json:"type"`
	Payload     json.RawMessage `json:"payload"`
	Key         string          `json:"key"`
	TimeoutMs   int64           `json:"timeoutMs"`
	Count       int             `json:"count"`
	Feed        string          `json:"feed"`
	Gate        string          `json:"gate"`
	Member      string          `json:"member"`
	Client      string          `json:"client"`
}

type access struct {
	Metadata map[string]string `json:"metadata"`
	OAuth    *struct {
		URL          string `json:"url"`
		ClientID     string `json:"clientId"`
		ClientSecret string `json:"clientSecret"`
	} `json:"oauth"`
}

func (a access) options() []interlock.Option {
	var options []interlock.Option
	for key, value := range a.Metadata {
		options = append(options, interlock.WithMetadata(key, value))
	}
	if a.OAuth != nil {
		options = append(options, interlock.WithTokenSource(&interlock.ClientCredentials{
			URL: a.OAuth.URL, ClientID: a.OAuth.ClientID, ClientSecret: a.OAuth.ClientSecret,
		}))
	}
	return options
}

// program has clients, members and feeds by the names that the runner gives them.
type program struct {
	output struct {
		sync.Mutex
		*json.Encoder
	}

	mu      sync.Mutex
	ctx     context.Context // of the commands and feeds of a scenario
	cancel  context.CancelFunc
	clients map[string]*interlock.Client
	members map[string]*interlock.Member
	feeds   map[string]context.CancelFunc
	gates   map[string]*gate
	calls   int64
}

func newProgram(output io.Writer) *program {
	p := &program{}
	p.output.Encoder = json.NewEncoder(output)
	p.output.SetEscapeHTML(false)
	p.forget()
	return p
}

// forget begins a scenario. The caller holds mu, or is the only one.
func (p *program) forget() {
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.clients, p.members = map[string]*interlock.Client{}, map[string]*interlock.Member{}
	p.feeds, p.gates = map[string]context.CancelFunc{}, map[string]*gate{}
}

func (p *program) run(input io.Reader) error {
	lines := bufio.NewReader(input)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var read command
		if err := json.Unmarshal(line, &read); err != nil {
			return err
		}
		go p.execute(&read)
	}
}

// say writes a line.
func (p *program) say(line object) {
	p.output.Lock()
	defer p.output.Unlock()
	if err := p.output.Encode(line); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
}

func (p *program) execute(c *command) {
	answer := object{"id": c.ID}
	if done, err := p.do(c); err != nil {
		answer["error"] = failure(err)
	} else {
		answer["ok"] = done
	}
	p.say(answer)
}

func failure(err error) object {
	var failed *interlock.Error
	switch {
	case errors.As(err, &failed):
		return object{"code": failed.Code, "message": failed.Message, "retryable": failed.Retryable}
	case errors.Is(err, context.DeadlineExceeded):
		// The caller has given up; that cancels the request.
		return object{"code": "CANCELLED", "message": err.Error(), "retryable": false}
	case errors.Is(err, errUnsupported):
		return object{"code": "UNSUPPORTED", "message": err.Error(), "retryable": false}
	}
	return object{"code": "EXCEPTION", "message": err.Error(), "retryable": false}
}

var errUnsupported = errors.New("there is no such command")

func (p *program) do(c *command) (any, error) {
	switch c.Do {
	case "hello":
		return object{"language": "go", "protocol": 1}, nil
	case "connect":
		return object{}, p.connect(c)
	case "join":
		return object{}, p.join(c)
	case "serve":
		return object{}, p.serve(c)
	case "call":
		return p.call(c)
	case "calls":
		return p.callMany(c)
	case "collect":
		session, ctx, err := p.session(c.On)
		if err != nil {
			return nil, err
		}
		items, err := collect(ctx, session, c.Type, c.Payload)
		return object{"items": items}, err
	case "read-each":
		return p.readEach(c)
	case "follow":
		return object{}, p.follow(c)
	case "unfollow":
		return object{}, p.unfollow(c.Feed)
	case "open":
		p.gate(c.Gate).open()
		return object{}, nil
	case "leave":
		return object{}, p.leave(c.Member)
	case "close":
		return object{}, p.close(c.Client)
	case "reset":
		return object{}, p.reset()
	}
	return nil, fmt.Errorf("%w: %s", errUnsupported, c.Do)
}

func (p *program) connect(c *command) error {
	client, err := interlock.New(c.Target, c.Access.options()...)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.clients[c.As] = client
	ctx := p.ctx
	p.mu.Unlock()
	return client.Connect(ctx)
}

func (p *program) join(c *command) error {
	member, ctx, err := p.member(c)
	if err != nil {
		return err
	}
	return member.Join(ctx)
}

func (p *program) serve(c *command) error {
	member, _, err := p.member(c)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		defer stop()
		if err := member.Run(ctx); err != nil {
			slog.Error("a member has ended", "error", err)
		}
	}()
	return nil
}

// member makes a member, which has not joined yet, and returns the context that it joins with.
func (p *program) member(c *command) (*interlock.Member, context.Context, error) {
	options := append(c.Access.options(), interlock.WithTags(c.Tags...))
	if c.Concurrency > 0 {
		options = append(options, interlock.WithConcurrency(c.Concurrency))
	}
	member, err := interlock.NewMember(c.Target, options...)
	if err != nil {
		return nil, nil, err
	}
	for i := range c.Handlers {
		h := &c.Handlers[i]
		h.program, h.memberName, h.member, h.quiet = p, c.As, member, c.Quiet
		if err := h.register(member); err != nil {
			return nil, nil, err
		}
	}
	p.mu.Lock()
	p.members[c.As] = member
	ctx := p.ctx
	p.mu.Unlock()
	return member, ctx, nil
}

// session is that of a client or of a member.
func (p *program) session(name string) (interlock.Session, context.Context, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if member := p.members[name]; member != nil {
		return member.Session, p.ctx, nil
	}
	if client := p.clients[name]; client != nil {
		return client.Session, p.ctx, nil
	}
	return interlock.Session{}, nil, fmt.Errorf("there is no client or member %q", name)
}

func (p *program) call(c *command) (any, error) {
	session, ctx, err := p.session(c.On)
	if err != nil {
		return nil, err
	}
	if c.TimeoutMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.TimeoutMs)*time.Millisecond)
		defer cancel()
	}
	return ask(ctx, session, c.Type, c.Payload, c.Key)
}

func (p *program) callMany(c *command) (any, error) {
	session, ctx, err := p.session(c.On)
	if err != nil {
		return nil, err
	}
	failures := make(chan error, c.Count)
	for range c.Count {
		go func() {
			_, err := ask(ctx, session, c.Type, c.Payload, "")
			failures <- err
		}()
	}
	answered, failed := 0, map[string]int{}
	for range c.Count {
		if err := <-failures; err != nil {
			failed[fmt.Sprint(failure(err)["code"])]++
		} else {
			answered++
		}
	}
	return object{"answered": answered, "failed": failed}, nil
}

// readEach reads each entity of a search, in the loop over it.
func (p *program) readEach(c *command) (any, error) {
	session, ctx, err := p.session(c.On)
	if err != nil {
		return nil, err
	}
	var request api.EntitySearchRequest
	if err := json.Unmarshal(c.Payload, &request); err != nil {
		return nil, err
	}
	read := 0
	for found, err := range session.Search(ctx, &request) {
		if err != nil {
			return nil, err
		}
		if _, err := session.Get(ctx, found.ID); err != nil {
			return nil, err
		}
		read++
	}
	return object{"read": read}, nil
}

func (p *program) leave(name string) error {
	p.mu.Lock()
	member := p.members[name]
	delete(p.members, name)
	p.mu.Unlock()
	return member.Shutdown(context.Background())
}

func (p *program) close(name string) error {
	p.mu.Lock()
	client := p.clients[name]
	delete(p.clients, name)
	p.mu.Unlock()
	return client.Close()
}

func (p *program) reset() error {
	p.mu.Lock()
	p.cancel()
	members, clients := p.members, p.clients
	p.forget()
	p.mu.Unlock()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var group sync.WaitGroup
	for _, member := range members {
		group.Add(1)
		go func() {
			defer group.Done()
			_ = member.Shutdown(ended) // what it does not finish is of no interest
		}()
	}
	for _, client := range clients {
		group.Add(1)
		go func() {
			defer group.Done()
			_ = client.Close() // the server may be gone
		}()
	}
	group.Wait()
	return nil
}

// gate lets all pass once it is open.
type gate struct {
	once   sync.Once
	opened chan struct{}
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

func (p *program) gate(name string) *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gates[name] == nil {
		p.gates[name] = &gate{opened: make(chan struct{})}
	}
	return p.gates[name]
}

func (p *program) nextCall() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	return p.calls
}

// ask sends a request with one answer, by the typed operation where there is one to use.
func ask(ctx context.Context, session interlock.Session, kind string, payload json.RawMessage, key string) (any, error) {
	var options []api.CallOption
	if key != "" {
		options = append(options, interlock.WithIdempotencyKey(key))
	}
	switch kind {
	case "EntityCreateRequest":
		return typed(ctx, payload, session.EntityCreate, options)
	case "EntityGetRequest":
		return typed(ctx, payload, session.EntityGet, options)
	case "EntityUpdateRequest":
		return typed(ctx, payload, session.EntityUpdate, options)
	case "EntityTransitionRequest":
		return typed(ctx, payload, session.EntityTransition, options)
	case "EntityDeleteRequest":
		return typed(ctx, payload, session.EntityDelete, options)
	}
	var answer json.RawMessage
	err := session.Call(ctx, kind, payload, &answer, options...)
	return answer, err
}

// typed sends a request with the typed operation. A typed answer is a successful one, so it
// has no `success`, which the runner looks for.
func typed[Q, A any](
	ctx context.Context, payload json.RawMessage,
	operation func(context.Context, *Q, ...api.CallOption) (*A, error), options []api.CallOption,
) (any, error) {
	var request Q
	if err := json.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	answer, err := operation(ctx, &request, options...)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	members["success"] = json.RawMessage("true")
	return members, nil
}

// collect sends a request with a streamed answer, and reads all of it.
func collect(ctx context.Context, session interlock.Session, kind string, payload json.RawMessage) ([]json.RawMessage, error) {
	items := []json.RawMessage{}
	for event, err := range session.Stream(ctx, kind, payload) {
		if err != nil {
			return nil, err
		}
		items = append(items, event.Data)
	}
	return items, nil
}
