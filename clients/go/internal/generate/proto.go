package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	cloudEventFile = "io/cloudevents/v1/cloudevents.proto"
	importPath     = "interlock.internal/interlock/api/cloudevents"
)

// cloudEvent compiles the message CloudEvent with protoc-gen-go, in the version that
// go.mod requires. No protoc has to be installed.
func cloudEvent(folder string) ([]byte, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(
			&protocompile.SourceResolver{ImportPaths: []string{folder}},
		),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(context.Background(), cloudEventFile)
	if err != nil {
		return nil, err
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{cloudEventFile},
		Parameter:      proto.String("M" + cloudEventFile + "=" + importPath + ";cloudevents"),
		ProtoFile:      withImports(compiled[0], map[string]bool{}),
	})
	if err != nil {
		return nil, err
	}
	plugin := exec.Command("go", "run", "google.golang.org/protobuf/cmd/protoc-gen-go")
	plugin.Stdin = bytes.NewReader(request)
	plugin.Stderr = os.Stderr
	output, err := plugin.Output()
	if err != nil {
		return nil, fmt.Errorf("protoc-gen-go: %w", err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return nil, err
	}
	if response.Error != nil || len(response.File) != 1 {
		return nil, fmt.Errorf("protoc-gen-go: %s (%d files)", response.GetError(), len(response.File))
	}
	return []byte(response.File[0].GetContent()), nil
}

// withImports lists a file after those that it imports.
func withImports(file protoreflect.FileDescriptor, seen map[string]bool) []*descriptorpb.FileDescriptorProto {
	if seen[file.Path()] {
		return nil
	}
	seen[file.Path()] = true
	var files []*descriptorpb.FileDescriptorProto
	for i := range file.Imports().Len() {
		files = append(files, withImports(file.Imports().Get(i).FileDescriptor, seen)...)
	}
	return append(files, protoutil.ProtoFromFileDescriptor(file))
}
