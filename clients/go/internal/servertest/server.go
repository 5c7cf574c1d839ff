// Package servertest starts real servers for tests.
package servertest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"interlock.internal/interlock"
)

const patience = 30 * time.Second

var ready = regexp.MustCompile(`interlock is ready .*http=\S+:(\d+) .*grpc=\S+:(\d+)`)

// Server is a server process on free ports.
type Server struct {
	// Target is where its gRPC port is; it stays the same over restarts.
	Target string
	// HTTP is the beginning of the URLs of its HTTP port.
	HTTP string

	t        testing.TB
	settings map[string]string
	process  *exec.Cmd
	ended    chan struct{}
}

// Start starts a server with the settings, and ends it with the test. It skips the test if
// there is no binary.
func Start(t testing.TB, settings map[string]string) *Server {
	t.Helper()
	all := map[string]string{
		"CYODA_STORAGE_BACKEND":       "memory",
		"INTERLOCK_IAM_MOCK_CALLER":   "true",
		"CYODA_DISPATCH_WAIT_TIMEOUT": "0s", // a test that needs a member has it ready
		"CYODA_HTTP_PORT":             "0",
		"CYODA_ADMIN_PORT":            "0",
		"CYODA_GRPC_PORT":             "0",
	}
	for name, value := range settings {
		all[name] = value
	}
	s := &Server{t: t, settings: all}
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// Binary is the server: what INTERLOCK_BIN names, else the debug build of the repository.
func Binary() string {
	if named := os.Getenv("INTERLOCK_BIN"); named != "" {
		return named
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../../../../target/debug/interlock")
}

// Start starts the process, where it was before if it had been started.
func (s *Server) Start() {
	s.t.Helper()
	if _, err := os.Stat(Binary()); err != nil {
		s.t.Skipf("no server; build one with `cargo build`, or name one in INTERLOCK_BIN: %v", err)
	}
	s.process = exec.Command(Binary())
	for name, value := range s.settings {
		s.process.Env = append(s.process.Env, name+"="+value)
	}
	s.process.Dir = s.t.TempDir()
	reader, writer := io.Pipe()
	s.process.Stdout, s.process.Stderr = writer, writer
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.process.Wait() // it is killed in the end
		_ = writer.Close()
	}()
	ports := make(chan []string, 1)
	go listen(reader, ports)
	select {
	case found := <-ports:
		if found == nil {
			s.t.Fatal("the server did not start")
		}
		s.HTTP, s.Target = "http://127.0.0.1:"+found[1], "127.0.0.1:"+found[2]
		s.settings["CYODA_GRPC_PORT"] = found[2]
		s.settings["CYODA_HTTP_PORT"] = found[1]
	case <-time.After(patience):
		s.t.Fatal("the server is not ready in time")
	}
}

func listen(log io.Reader, ports chan<- []string) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if found := ready.FindStringSubmatch(lines.Text()); found != nil {
			ports <- found
		}
		if os.Getenv("SERVERTEST_LOG") != "" {
			os.Stderr.WriteString(lines.Text() + "\n")
		}
	}
	select {
	case ports <- nil:
	default:
	}
}

// Kill ends the process without letting it finish anything.
func (s *Server) Kill() {
	_ = s.process.Process.Kill() // it may have ended
	<-s.ended
}

// Tenant is an option that makes the caller one of a tenant that no other test uses.
func Tenant(t testing.TB) interlock.Option {
	t.Helper()
	name := make([]byte, 8)
	if _, err := rand.Read(name); err != nil {
		t.Fatal(err)
	}
	return interlock.WithMetadata("x-mock-tenant", strings.ToLower(hex.EncodeToString(name)))
}

// Context ends with the test, or when it takes too long.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}
