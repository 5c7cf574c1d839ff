package interlock

import (
	"context"
	"crypto/tls"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"interlock.internal/interlock/api"
)

// Defaults of the options.
const (
	// DefaultInFlight is how many requests of one stream a server works on at once.
	DefaultInFlight = 256
	// DefaultMessageBytesMax is the largest message that a server accepts.
	DefaultMessageBytesMax = 16 << 20
	// DefaultConnectTimeout is how long a request waits for a connection.
	DefaultConnectTimeout = 10 * time.Second
	// DefaultConcurrency is how many calls a member executes at once.
	DefaultConcurrency = 64
	// DefaultDrainTimeout is how long a member that stops waits for running calls.
	DefaultDrainTimeout = 30 * time.Second
)

// config is what the options of a client or a member have set.
type config struct {
	inFlight        int
	messageBytesMax int
	connectTimeout  time.Duration
	metadata        map[string]string
	tokens          TokenSource
	tls             credentials.TransportCredentials
	dial            []grpc.DialOption
	log             *slog.Logger

	tags         []string
	labels       map[string]string
	namespace    string
	concurrency  int
	drainTimeout time.Duration
}

func newConfig(options []Option) *config {
	c := &config{
		inFlight:        DefaultInFlight,
		messageBytesMax: DefaultMessageBytesMax,
		connectTimeout:  DefaultConnectTimeout,
		metadata:        map[string]string{},
		log:             slog.Default(),
		concurrency:     DefaultConcurrency,
		drainTimeout:    DefaultDrainTimeout,
	}
	for _, option := range options {
		option(c)
	}
	return c
}

// Option changes a client or a member.
type Option func(*config)

// WithInFlight sets how many requests may be unanswered; further ones wait.
// Requests in the transaction of a call are not counted. There has to be at least 1.
func WithInFlight(requests int) Option { return func(c *config) { c.inFlight = requests } }

// WithMessageBytesMax sets the size of the largest message that is sent at all.
// A server ends the whole stream for one that is too large for it.
func WithMessageBytesMax(bytes int) Option { return func(c *config) { c.messageBytesMax = bytes } }

// WithConnectTimeout sets how long a request waits for a connection.
func WithConnectTimeout(timeout time.Duration) Option {
	return func(c *config) { c.connectTimeout = timeout }
}

// WithMetadata adds gRPC metadata that is sent when a stream is opened.
func WithMetadata(key, value string) Option { return func(c *config) { c.metadata[key] = value } }

// WithToken authenticates with a token that does not change.
func WithToken(token string) Option { return WithTokenSource(staticToken(token)) }

// WithTokenSource authenticates with the token of the source, which is asked for every stream
// that is opened. [ClientCredentials] is one that obtains tokens from the server itself.
func WithTokenSource(tokens TokenSource) Option { return func(c *config) { c.tokens = tokens } }

// WithTLS encrypts the connection. With nil the authorities of the system are trusted; for
// servers that require a certificate of the client set Certificates.
func WithTLS(settings *tls.Config) Option {
	return func(c *config) { c.tls = credentials.NewTLS(settings) }
}

// WithDialOptions passes options to gRPC, such as interceptors and statistics.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(c *config) { c.dial = append(c.dial, options...) }
}

// WithLogger sets the logger; without it, it is slog.Default().
func WithLogger(log *slog.Logger) Option { return func(c *config) { c.log = log } }

// WithTags sets the tags of a member. It is sent the calls that require no others.
func WithTags(tags ...string) Option { return func(c *config) { c.tags = append(c.tags, tags...) } }

// WithConcurrency sets how many calls a member executes at once, and how many tasks besides;
// further ones wait. A call that a running one causes in its own transaction is not counted,
// because that one waits for it. There has to be at least 1. When 1,024 more than the calls and
// tasks that may run wait, further ones are rejected as retryable.
func WithConcurrency(calls int) Option { return func(c *config) { c.concurrency = calls } }

// WithLabels adds labels of a member, which invocations of actions may ask for.
func WithLabels(labels map[string]string) Option { return func(c *config) { c.labels = labels } }

// WithNamespace sets the namespace of the actions of a member, instead of the server's default.
func WithNamespace(namespace string) Option { return func(c *config) { c.namespace = namespace } }

// WithDrainTimeout sets how long [Member.Run] waits for running calls when it ends.
func WithDrainTimeout(timeout time.Duration) Option {
	return func(c *config) { c.drainTimeout = timeout }
}

// WithIdempotencyKey makes the server perform a write once: a repeat with the same key gets
// the first answer. An empty key is refused.
func WithIdempotencyKey(key string) api.CallOption {
	return func(o *api.CallOptions) { o.IdempotencyKey = &key }
}

// TokenSource supplies bearer tokens.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

type staticToken string

func (t staticToken) Token(context.Context) (string, error) { return string(t), nil }
