package interlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"interlock.internal/interlock/api"
)

const (
	methodStream = "/org.cyoda.cloud.api.grpc.CloudEventsService/startStreaming"
	methodListen = "/org.cyoda.cloud.api.grpc.CloudEventsService/entitySearchCollection"

	// greetingTimeout is how long a server may take to accept a stream.
	greetingTimeout = 10 * time.Second

	// Between two attempts the delay doubles, and is never quite the same.
	delayFirst = 100 * time.Millisecond
	delayMax   = 5 * time.Second
)

// connection opens streams to one server, one after the other.
type connection struct {
	*config
	target  string
	channel *grpc.ClientConn
	// greet makes a new stream ready for use, receive is given every event that answers nothing.
	greet   func(context.Context, *stream) error
	receive func(*stream, *event)

	ctx     context.Context // ends when the connection is closed
	close   context.CancelFunc
	answers answers       // those that have calls of their own
	ahead   *ahead        // what has come of them
	opening chan struct{} // held by the one that opens a stream
	current atomic.Pointer[stream]
	// These are guarded by opening.
	delay  time.Duration
	next   time.Time             // no attempt is made before
	opened time.Time             // zero once the delay is that of a first attempt again
	lost   atomic.Pointer[Error] // why there is no stream, as far as it is known
}

// answers counts those that are read, so that closing waits for them.
type answers struct {
	mu      sync.Mutex
	closing bool
	open    sync.WaitGroup
}

// begin returns false once the connection is being closed.
func (a *answers) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closing {
		a.open.Add(1)
	}
	return !a.closing
}

func (a *answers) end() { a.open.Done() }

// wait returns when every answer has ended, or the context.
func (a *answers) wait(ctx context.Context) {
	a.mu.Lock()
	a.closing = true
	a.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		a.open.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// checkTarget refuses what gRPC would only fail to connect to. Its resolvers have names of their own,
// such as unix:/run/interlock or dns:///host:1.
func checkTarget(target string) error {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return &Error{
			Code: CodeInvalidOptions,
			Message: target + " is a URL; the target is host:port of the gRPC port, such as" +
				" localhost:9090, and TLS is enabled by WithTLS",
		}
	}
	for _, resolver := range []string{"dns:", "passthrough:", "unix:", "unix-abstract:", "xds:"} {
		if strings.HasPrefix(target, resolver) {
			return nil
		}
	}
	host, port, err := net.SplitHostPort(target)
	number, wrong := strconv.ParseUint(port, 10, 16)
	if err != nil || wrong != nil || host == "" || number == 0 {
		return &Error{
			Code:    CodeInvalidOptions,
			Message: fmt.Sprintf("%q is not host:port of the gRPC port, such as localhost:9090 or [::1]:9090", target),
		}
	}
	return nil
}

func atLeastOne(name string, value int) error {
	if value < 1 {
		return &Error{Code: CodeInvalidOptions, Message: fmt.Sprintf("%s is %d; use 1 or more", name, value)}
	}
	return nil
}

func newConnection(target string, c *config) (*connection, error) {
	if err := cmp.Or(checkTarget(target), atLeastOne("in flight", c.inFlight), atLeastOne("concurrency", c.concurrency)); err != nil {
		return nil, err
	}
	transport := c.tls
	if transport == nil {
		transport = insecure.NewCredentials()
	}
	options := append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithConnectParams(grpc.ConnectParams{
			// Streams are opened with delays of their own; those of the channel stay below.
			Backoff:           backoff.Config{BaseDelay: delayFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		// A server that has vanished is noticed within 30 s.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithIdleTimeout(0),
		grpc.WithUserAgent("interlock-go/" + Version),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(1<<31-1), grpc.MaxCallSendMsgSize(1<<31-1),
		),
	}, c.dial...)
	channel, err := grpc.NewClient(target, options...)
	if err != nil {
		return nil, err
	}
	made := &connection{
		config: c, target: target, channel: channel,
		greet:   func(context.Context, *stream) error { return nil },
		receive: func(*stream, *event) {},
		opening: make(chan struct{}, 1), ahead: newAhead(unreadBytesMax),
	}
	made.ctx, made.close = context.WithCancel(context.Background())
	return made, nil
}

// shutDown waits for outstanding answers until the context ends, then disconnects. To shut
// down once more does nothing.
func (c *connection) shutDown(ctx context.Context) error {
	if c.ctx.Err() != nil {
		return nil
	}
	if open := c.current.Load(); open != nil {
		open.closeAfterAnswers(ctx)
	}
	c.answers.wait(ctx)
	c.close()
	return c.channel.Close()
}

// connect waits until the server can be reached. It opens no stream: a server ends silent ones.
func (c *connection) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.connectTimeout, errLate)
	defer cancel()
	c.channel.Connect()
	for state := c.channel.GetState(); state != connectivity.Ready; state = c.channel.GetState() {
		if state == connectivity.Shutdown {
			return errClosed
		}
		if state == connectivity.Idle {
			c.channel.Connect()
		}
		if !c.channel.WaitForStateChange(ctx, state) {
			c.learnWhy()
			return c.unreachableIfLate(context.Cause(ctx))
		}
	}
	return nil
}

// learnWhy takes note of why the server cannot be reached. Only a call is told, which fails at once
// for that reason.
func (c *connection) learnWhy() {
	if c.channel.GetState() != connectivity.TransientFailure {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, 200*time.Millisecond)
	defer cancel()
	_, err := c.channel.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, methodListen)
	var lost *Error
	if status.Code(err) == codes.Unavailable && errors.As(callFailure(err), &lost) {
		c.lost.Store(lost)
	}
}

var errClosed = &Error{Code: CodeClientClosed, Message: "the client was closed"}

// errLate is the cause of the end of a context that the connect timeout has ended.
var errLate = errors.New("interlock: no connection in time")

// unreachableIfLate says what it means that the connect timeout is over, and why there is no
// connection as far as that is known. Any other failure stays as it is.
func (c *connection) unreachableIfLate(err error) error {
	if !errors.Is(err, errLate) {
		return err
	}
	late := connectionLost("no answer from %s within %s", c.target, c.connectTimeout)
	if lost := c.lost.Load(); lost != nil {
		late.Message += ": " + lost.Message
	}
	late.Retryable = true
	return late
}

// streamSoon returns the open stream, or opens one within the connect timeout.
func (c *connection) streamSoon(ctx context.Context) (*stream, error) {
	if open := c.current.Load(); open != nil && open.ended() == nil && c.ctx.Err() == nil {
		return open, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.connectTimeout, errLate)
	defer cancel()
	open, err := c.streamEventually(ctx)
	return open, c.unreachableIfLate(err)
}

// streamEventually returns the open stream, or opens one, however long that takes. It fails
// only when the server refuses this caller.
func (c *connection) streamEventually(ctx context.Context) (*stream, error) {
	select {
	case c.opening <- struct{}{}:
		defer func() { <-c.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.ctx.Done():
		return nil, errClosed
	}
	for {
		if c.ctx.Err() != nil {
			return nil, errClosed
		}
		if open := c.current.Load(); open != nil && open.ended() == nil {
			return open, nil
		}
		// A stream that ends as soon as it is opened is no reason to hurry. This is decided once for
		// each: attempts that fail take time, too, and must not look like one that was open for long.
		if !c.opened.IsZero() && time.Since(c.opened) > delayMax {
			c.delay, c.next = 0, time.Time{}
		}
		c.opened = time.Time{}
		// Of a pause that is longer than a caller waits, the next one waits for the rest only.
		if err := c.wait(ctx, time.Until(c.next)); err != nil {
			return nil, err
		}
		open, err := c.open(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.delay = min(delayMax, max(delayFirst, 2*c.delay))
		c.next = time.Now().Add(jittered(c.delay))
		if err == nil {
			c.opened = time.Now()
			c.current.Store(open)
			c.lost.Store(nil)
			return open, nil
		}
		var lost *Error
		if !errors.As(err, &lost) || lost.Code != CodeConnectionLost {
			return nil, err
		}
		c.lost.Store(lost)
		c.log.WarnContext(ctx, "cannot open a stream; retrying", "target", c.target, "error", err)
	}
}

// pause waits for about so long.
func (c *connection) pause(ctx context.Context, delay time.Duration) error {
	return c.wait(ctx, jittered(delay))
}

// jittered is about so long.
func jittered(delay time.Duration) time.Duration { return delay/2 + rand.N(delay/2+1) }

func (c *connection) wait(ctx context.Context, delay time.Duration) error {
	if delay <= 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return errClosed
	}
}

// forgetful is a source that gets another token if the one it has is refused.
type forgetful interface{ Forget(token string) }

// open opens a stream. If the server refuses the token, it does so once more with another one.
func (c *connection) open(ctx context.Context) (*stream, error) {
	open, token, err := c.openOnce(ctx)
	if source, mayForget := c.tokens.(forgetful); mayForget && errors.Is(err, unauthorized) {
		source.Forget(token)
		open, _, err = c.openOnce(ctx)
	}
	return open, err
}

func (c *connection) openOnce(ctx context.Context) (*stream, string, error) {
	ctx, cancelWait := context.WithTimeoutCause(ctx, greetingTimeout, connectionLost("the server does not answer"))
	defer cancelWait()
	streamContext, cancel := context.WithCancel(c.ctx)
	stop := context.AfterFunc(ctx, cancel)
	streamContext, token, err := c.authenticated(streamContext)
	if err != nil {
		cancel()
		return nil, token, c.tokenFailure(ctx, err)
	}
	call, err := c.channel.NewStream(streamContext, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, methodStream)
	if err != nil {
		cancel()
		return nil, token, c.openFailure(ctx, err)
	}
	made := newStream(streamContext, cancel, call, c.config, c.receive)
	go func() {
		made.serve()
		if c.current.Load() == made && c.ctx.Err() == nil && !made.isClosing() {
			c.log.Warn("the stream has ended", "target", c.target, "error", made.ended())
		}
	}()
	if err := c.ready(ctx, made); err != nil {
		cancel()
		return nil, token, c.openFailure(ctx, err)
	}
	if !stop() {
		return nil, token, context.Cause(ctx)
	}
	return made, token, nil
}

// ready waits until the server has accepted the stream.
func (c *connection) ready(ctx context.Context, made *stream) error {
	header, err := made.call.Header()
	if err != nil {
		return err
	}
	if header == nil { // the stream has ended instead; the reader finds out why
		<-made.done
		return made.ended()
	}
	if err := checkVersion(header); err != nil {
		return err
	}
	return c.greet(ctx, made)
}

// tokenFailure says why there is no token. A source that was not waited for any longer has not
// failed: what ended the waiting decides whether another try is worth it.
func (c *connection) tokenFailure(ctx context.Context, err error) error {
	switch {
	case c.ctx.Err() != nil:
		return errClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

func (c *connection) openFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return callFailure(err)
}

// authenticated returns a context with the metadata of a call, and the token in it.
func (c *connection) authenticated(ctx context.Context) (context.Context, string, error) {
	pairs := metadata.MD{}
	for key, value := range c.metadata {
		pairs.Set(key, value)
	}
	token := ""
	if c.tokens != nil {
		var err error
		if token, err = c.tokens.Token(ctx); err != nil {
			return ctx, "", err
		}
		pairs.Set("authorization", "Bearer "+token)
	}
	carried := propagation.MapCarrier{}
	traceContext.Inject(ctx, carried)
	for key, value := range carried {
		pairs.Set(key, value)
	}
	return metadata.NewOutgoingContext(ctx, pairs), token, nil
}

// ask sends a request on the open stream, or on a new one.
func (c *connection) ask(ctx context.Context, request *event) (*answer, error) {
	open, err := c.streamSoon(ctx)
	if err != nil {
		return nil, err
	}
	return open.ask(ctx, open.lane, request)
}

// errStopped says that the reader of an endless answer does not want more.
var errStopped = errors.New("interlock: the reader has stopped")

// stream sends a request with a streamed answer on a call of its own. Types that have one event as
// the answer are not accepted there.
func (c *connection) stream(ctx context.Context, request *event, yield func(*event) bool) error {
	if !api.IsStreamed(request.Type) {
		open, err := c.streamSoon(ctx)
		if err != nil {
			return err
		}
		return open.each(ctx, open.lane, request, yield)
	}
	if !c.answers.begin() {
		return errClosed
	}
	defer c.answers.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return c.ahead.pass(func(put func(*event) bool) error {
		return c.separately(ctx, request, put, answerFailure)
	}, yield)
}

// listen sends a request with an endless answer. Whatever ends the answer is a lost connection: a
// feed resumes.
func (c *connection) listen(ctx context.Context, request *event, yield func(*event) bool) error {
	return c.separately(ctx, request, yield, callFailure)
}

// separately sends a request on a call of its own, so that reading its answer slowly delays nothing
// else: the server waits. It returns nil when the server ends the call, and else what it means that
// the call has ended.
func (c *connection) separately(ctx context.Context, request *event, yield func(*event) bool, meaning func(error) error) error {
	if err := checkSize(request, c.messageBytesMax); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		token, accepted, err := c.separatelyOnce(ctx, request, yield, meaning)
		source, mayForget := c.tokens.(forgetful)
		if !mayForget || !errors.Is(err, unauthorized) {
			return err
		}
		source.Forget(token)
		if accepted {
			// The token was revoked meanwhile. The same request would have the answer begin
			// again: a caller that resumes asks for the rest, with another token.
			return asLost(err)
		}
		if attempt > 0 {
			return err
		}
	}
}

// separatelyOnce also returns the token it used, and whether the server has accepted that.
func (c *connection) separatelyOnce(
	ctx context.Context, request *event, yield func(*event) bool, meaning func(error) error,
) (token string, accepted bool, err error) {
	callContext, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	callContext, token, err = c.authenticated(callContext)
	if err != nil {
		return token, false, c.tokenFailure(ctx, err)
	}
	call, err := c.channel.NewStream(callContext, &grpc.StreamDesc{ServerStreams: true}, methodListen)
	if err == nil {
		err = call.SendMsg(request)
	}
	if err == nil {
		err = call.CloseSend()
	}
	if err == nil {
		header, _ := call.Header() // without one the call has ended; RecvMsg says why
		if other := checkVersion(header); other != nil {
			return token, true, other
		}
	}
	// After an EOF while sending, RecvMsg returns how the call ended.
	for err == nil || errors.Is(err, io.EOF) && call != nil {
		received := new(event)
		if err = call.RecvMsg(received); err != nil {
			break
		}
		accepted = true
		if !yield(received) {
			return token, accepted, errStopped
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return token, accepted, nil
	case c.ctx.Err() != nil:
		return token, accepted, errClosed
	case ctx.Err() != nil:
		return token, accepted, context.Cause(ctx)
	}
	if call != nil && !accepted {
		header, _ := call.Header() // only a call that is refused at once has none
		accepted = header != nil
	}
	return token, accepted, meaning(err)
}
