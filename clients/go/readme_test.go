package interlock_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/internal/servertest"
)

// build builds the program of the README in which the text occurs, for a server.
func build(t *testing.T, text, target string) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	must(t, err)
	for _, found := range regexp.MustCompile("(?s)```go\n(package main.*?)```").FindAllSubmatch(readme, -1) {
		source := string(found[1])
		if !strings.Contains(source, text) {
			continue
		}
		// In a folder of this module, whose name go ignores otherwise.
		folder, err := os.MkdirTemp(".", "_readme")
		must(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(folder) })
		file := filepath.Join(folder, "main.go")
		must(t, os.WriteFile(file, []byte(strings.ReplaceAll(source, "localhost:9090", target)), 0o600))
		binary := filepath.Join(t.TempDir(), "program")
		if out, err := exec.Command("go", "build", "-o", binary, file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return binary
	}
	t.Fatalf("no program of the README has %q", text)
	return ""
}

func TestTheClientOfTheReadmeWorksAsOftenAsItIsStarted(t *testing.T) {
	server := servertest.Start(t, nil)
	program := build(t, "B-7", server.Target)
	for range 2 {
		out, err := exec.Command(program).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(`"weight":0.25`)) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
}

func TestTheMemberOfTheReadmeServesTheOrders(t *testing.T) {
	server := servertest.Start(t, map[string]string{"CYODA_DISPATCH_WAIT_TIMEOUT": "10s"})
	client := connect(t, server)
	ctx := servertest.Context(t)
	order := interlock.Model{Name: "order", Version: 1}
	must(t, client.ImportModel(ctx, order, map[string]any{"total": 12.5, "tax": 2.5}))
	must(t, client.LockModel(ctx, order))
	must(t, client.ImportWorkflows(ctx, order, api.JSON(firstSession(t))))
	written, err := client.Create(ctx, order, map[string]any{"total": 19.9})
	must(t, err)

	member := exec.Command(build(t, "add-tax", server.Target))
	must(t, member.Start())
	t.Cleanup(func() { _ = member.Process.Kill() })
	must(t, client.Transition(ctx, written.EntityID, "invoice"))
	entity, err := client.Get(ctx, written.EntityID)
	must(t, err)
	if tax := entity.Document()["tax"]; entity.State != "INVOICED" || tax == nil {
		t.Errorf("the order is %s in %s", entity.Data, entity.State)
	}
	must(t, member.Process.Signal(syscall.SIGTERM))
	must(t, member.Wait())
}

// firstSession is the workflow of orders in the README of the repository.
func firstSession(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	must(t, err)
	found := regexp.MustCompile(`(?s)"workflows": \[(\{.*?\})\]\}'`).FindSubmatch(readme)
	if found == nil {
		t.Fatal("the README has no workflow of orders")
	}
	return string(found[1])
}
