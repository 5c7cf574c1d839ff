package main

import (
	"fmt"
	"strings"
)

const operationsHeader = header + `import (
	"context"
	"iter"
)

`

// operationMethods writes a method for each operation.
func (p *protocol) operationMethods() (string, error) {
	var out strings.Builder
	out.WriteString(operationsHeader)
	for _, operation := range p.Operations {
		switch {
		case !operation.Streaming:
			writeCall(&out, p, operation)
		case len(operation.Responses) == 1:
			writeStream(&out, p, operation)
		default:
			writeUnion(&out, operation)
			writeUnionStream(&out, p, operation)
		}
	}
	writeStreamed(&out, p)
	writeKinds(&out, p)
	return out.String(), nil
}

// writeStreamed writes which requests are answered by several events.
func writeStreamed(out *strings.Builder, p *protocol) {
	out.WriteString("// streamed are the types of requests that are answered by several events.\n" +
		"var streamed = map[string]bool{\n")
	for _, operation := range p.Operations {
		if operation.Streaming {
			fmt.Fprintf(out, "\t%q: true,\n", operation.Request)
		}
	}
	out.WriteString("}\n\n")
}

// writeKinds writes the method that names the event type of each request.
func writeKinds(out *strings.Builder, p *protocol) {
	for _, operation := range p.Operations {
		fmt.Fprintf(out, "// EventType names the type of the event.\nfunc (*%s) EventType() string { return %q }\n\n",
			operation.Request, operation.Request)
	}
}

func methodComment(out *strings.Builder, p *protocol, operation operation, name string) {
	fmt.Fprintf(out, "// %s sends an %s", name, operation.Request)
	if !strings.ContainsRune("AEIOU", rune(operation.Request[0])) {
		text := strings.TrimSuffix(out.String(), "an "+operation.Request)
		out.Reset()
		out.WriteString(text + "a " + operation.Request)
	}
	out.WriteString(".\n")
	if description := p.files[operation.Request].Description; description != "" {
		fmt.Fprintf(out, "// %s\n", strings.ReplaceAll(description, "\n", "\n// "))
	}
	if operation.Role != "" {
		fmt.Fprintf(out, "// The caller needs the role %s.\n", operation.Role)
	}
	if operation.Endless {
		out.WriteString("// The answer has no end; it does not resume after a lost connection.\n")
	}
}

func writeCall(out *strings.Builder, p *protocol, operation operation) {
	name, answer := strings.TrimSuffix(operation.Request, "Request"), operation.Responses[0]
	methodComment(out, p, operation, name)
	fmt.Fprintf(out, `func (o Operations) %s(ctx context.Context, request *%s, options ...CallOption) (*%s, error) {
	var answer %s
	if err := o.caller.Call(ctx, %q, request, &answer, options...); err != nil {
		return nil, err
	}
	return &answer, nil
}

`, name, operation.Request, answer, answer, operation.Request)
}

func writeStream(out *strings.Builder, p *protocol, operation operation) {
	name, answer := strings.TrimSuffix(operation.Request, "Request"), operation.Responses[0]
	methodComment(out, p, operation, name)
	fmt.Fprintf(out, `func (o Operations) %s(ctx context.Context, request *%s, options ...CallOption) iter.Seq2[*%s, error] {
	return decoded(o.%s(ctx, %q, request, options...), decode[%s])
}

`, name, operation.Request, answer, streamMethod(operation), operation.Request, answer)
}

func streamMethod(operation operation) string {
	if operation.Endless {
		return "caller.Listen"
	}
	return "caller.Stream"
}

func unionName(operation operation) string {
	return strings.TrimSuffix(operation.Request, "Request") + "Answer"
}

func writeUnion(out *strings.Builder, operation operation) {
	fmt.Fprintf(out, "// %s is one event of the answer: one of its members is not nil.\ntype %s struct {\n",
		unionName(operation), unionName(operation))
	for _, response := range operation.Responses {
		fmt.Fprintf(out, "%s *%s\n", response, response)
	}
	out.WriteString("}\n\n")
}

func writeUnionStream(out *strings.Builder, p *protocol, operation operation) {
	name := strings.TrimSuffix(operation.Request, "Request")
	methodComment(out, p, operation, name)
	fmt.Fprintf(out, `func (o Operations) %s(ctx context.Context, request *%s, options ...CallOption) iter.Seq2[*%s, error] {
	return decoded(o.%s(ctx, %q, request, options...), func(event Event) (*%s, error) {
		var answer %s
		switch event.Type {
`, name, operation.Request, unionName(operation), streamMethod(operation), operation.Request, unionName(operation), unionName(operation))
	for _, response := range operation.Responses {
		fmt.Fprintf(out, `		case %q:
			one, err := decode[%s](event)
			answer.%s = one
			return &answer, err
`, response, response, response)
	}
	out.WriteString("\t\t}\n\t\treturn nil, unexpected(event)\n\t})\n}\n\n")
}

// codes writes the error codes.
func (p *protocol) codes() (string, error) {
	var out strings.Builder
	out.WriteString(header + "// Codes of failed requests.\nconst (\n")
	for _, code := range p.Errors {
		fmt.Fprintf(&out, "// Code%s means: %s.\nCode%s Code = %q\n", goName(code.Code), code.Meaning, goName(code.Code), code.Code)
	}
	out.WriteString(")\n\nvar codes = map[Code]codeInfo{\n")
	for _, code := range p.Errors {
		fmt.Fprintf(&out, "Code%s: {meaning: %q, status: %d, retryable: %t},\n", goName(code.Code), code.Meaning, code.Status, code.Retryable)
	}
	out.WriteString("}\n")
	return out.String(), nil
}
