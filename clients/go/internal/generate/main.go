// Command generate writes the package api from the protocol of the server:
// the types and operations from clients/schema, the CloudEvent message from proto.
//
// It is executed by `go generate ./...`. A test compares what it would write with
// what is committed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	root := flag.String("root", "../..", "the root of the repository")
	target := flag.String("target", "api", "the folder to write")
	flag.Parse()
	if err := write(*root, *target); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write(root, target string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(target, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns all generated files by their paths in the folder api.
func generate(root string) (map[string][]byte, error) {
	protocol, err := readProtocol(filepath.Join(root, "clients", "schema"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, text := range map[string]func() (string, error){
		"types.go":      protocol.types,
		"operations.go": protocol.operationMethods,
		"codes.go":      protocol.codes,
	} {
		source, err := text()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if files[name], err = formatted(source); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	message, err := cloudEvent(filepath.Join(root, "proto"))
	if err != nil {
		return nil, fmt.Errorf("proto: %w", err)
	}
	files["cloudevents/cloudevents.pb.go"] = message
	return files, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
