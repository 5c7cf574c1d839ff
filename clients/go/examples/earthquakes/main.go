// Command earthquakes loads a week of earthquake reports, has some of them reviewed, and
// shows what became of them.
//
// It is the loader, with -with-member the compute member as well; or, with -member, the
// compute member alone, until it is stopped with Ctrl-C or SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(err, interlock.ErrConnectionLost):
		fmt.Fprintf(os.Stderr, "\n%s\nIs the server running? `interlock` starts it.\n", err)
	case errors.Is(err, api.CodeNoComputeMemberForTag):
		fmt.Fprintf(os.Stderr, "\nNo member serves the tag `%s`, so the reports cannot be assessed.\n"+
			"Start `earthquakes -member` in another terminal, or add -with-member.\n", tag)
	default:
		fmt.Fprintf(os.Stderr, "\n%s\n", err)
	}
	os.Exit(1)
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("earthquakes", flag.ContinueOnError)
	server := flags.String("server", "localhost:9090", "its gRPC port, as host:port")
	folder := flags.String("files", "../python/examples/earthquakes", "the folder with models, workflows and data")
	withMember := flags.Bool("with-member", false, "be the compute member as well, on one stream")
	memberOnly := flags.Bool("member", false, "be the compute member only")
	timeout := flags.Duration("timeout", 5*time.Second, "how long to wait for the server")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	options := []interlock.Option{
		interlock.WithConnectTimeout(*timeout),
		interlock.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))),
	}
	if !*memberOnly && !*withMember {
		client, err := interlock.New(*server, options...)
		if err != nil {
			return err
		}
		defer client.Close()
		if err := client.Connect(ctx); err != nil {
			return err
		}
		return (&loader{client.Session, *folder, out}).load(ctx)
	}
	member, err := newMember(*server, options...)
	if err != nil {
		return err
	}
	if *memberOnly {
		return member.Run(ctx)
	}
	if err := member.Join(ctx); err != nil {
		return err
	}
	return errors.Join((&loader{member.Session, *folder, out}).load(ctx), leave(member))
}

func leave(member *interlock.Member) error {
	ctx, cancel := context.WithTimeout(context.Background(), interlock.DefaultDrainTimeout)
	defer cancel()
	return member.Shutdown(ctx)
}
