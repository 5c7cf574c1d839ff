package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that the server's schemas use.
type schema struct {
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Type        kinds              `json:"type"`
	Format      string             `json:"format"`
	Ref         string             `json:"$ref"`
	Const       any                `json:"const"`
	Enum        []any              `json:"enum"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	Additional  *schema            `json:"additionalProperties"`
	AnyOf       []*schema          `json:"anyOf"`
	OneOf       []*schema          `json:"oneOf"`
	Defs        map[string]*schema `json:"$defs"`
	Interlock   *role              `json:"x-interlock"`

	// anything is set for the schemas true and false.
	anything bool
}

// role says what an event is for.
type role struct {
	Request string   `json:"request"`
	Answers []string `json:"answers"`
	Sender  string   `json:"sender"`
}

// kinds are the JSON types of a value, without null.
type kinds []string

func (k *kinds) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*k = kinds{one}
		return nil
	}
	var several []string
	if err := json.Unmarshal(text, &several); err != nil {
		return err
	}
	*k = slices.DeleteFunc(several, func(kind string) bool { return kind == "null" })
	return nil
}

func (s *schema) UnmarshalJSON(text []byte) error {
	var constant bool
	if json.Unmarshal(text, &constant) == nil {
		s.anything = true
		return nil
	}
	type plain schema
	return json.Unmarshal(text, (*plain)(s))
}

func (s *schema) is(kind string) bool { return len(s.Type) == 1 && s.Type[0] == kind }

// alternatives are those of anyOf or oneOf, without null.
func (s *schema) alternatives() []*schema {
	return slices.DeleteFunc(slices.Concat(s.AnyOf, s.OneOf), func(one *schema) bool {
		return one.is("null")
	})
}

// texts are the values of a schema that lists texts, else nothing.
func (s *schema) texts() []string {
	var found []string
	for _, value := range s.Enum {
		text, isText := value.(string)
		if !isText {
			return nil
		}
		found = append(found, text)
	}
	if text, isText := s.Const.(string); isText {
		found = append(found, text)
	}
	for _, one := range s.alternatives() {
		texts := one.texts()
		if texts == nil {
			return nil
		}
		found = append(found, texts...)
	}
	return found
}

// protocol is everything that is generated from.
type protocol struct {
	Operations []operation `json:"operations"`
	Errors     []errorCode `json:"errors"`
	Events     []struct {
		Type   string `json:"type"`
		Schema string `json:"schema"`
	} `json:"events"`

	files map[string]*schema
}

type operation struct {
	Request        string   `json:"request"`
	Responses      []string `json:"responses"`
	Method         string   `json:"method"`
	Streaming      bool     `json:"streaming"`
	Endless        bool     `json:"endless"`
	Mutating       bool     `json:"mutating"`
	IdempotencyKey bool     `json:"idempotencyKey"`
	Role           string   `json:"role"`
}

type errorCode struct {
	Code      string `json:"code"`
	Meaning   string `json:"meaning"`
	Retryable bool   `json:"retryable"`
	Status    int    `json:"status"`
}

func readProtocol(folder string) (*protocol, error) {
	read := &protocol{files: map[string]*schema{}}
	if err := readJSON(filepath.Join(folder, "index.json"), read); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if filepath.Base(path) == "index.json" {
			continue
		}
		var file schema
		if err := readJSON(path, &file); err != nil {
			return nil, err
		}
		read.files[file.Title] = &file
	}
	for _, operation := range read.Operations {
		for _, name := range append(operation.Responses, operation.Request) {
			if read.files[name] == nil {
				return nil, fmt.Errorf("there is no schema of %s in %s", name, folder)
			}
		}
	}
	return read, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// definitions gives every definition of every file a name: its own, after the name of
// the file where files define the same name differently.
func (p *protocol) definitions() (named map[string]*schema, names map[string]map[string]string) {
	named, names = map[string]*schema{}, map[string]map[string]string{}
	for _, title := range sortedKeys(p.files) {
		names[title] = map[string]string{}
		for _, name := range sortedKeys(p.files[title].Defs) {
			definition := p.files[title].Defs[name]
			chosen := name
			if known := named[name]; known != nil && !reflect.DeepEqual(known, definition) || p.files[name] != nil {
				chosen = title + name
			}
			named[chosen] = definition
			names[title][name] = chosen
		}
	}
	return named, names
}

func (p *protocol) isRequest(title string) bool {
	about := p.files[title].Interlock
	return about != nil && (about.Request != "" || about.Sender == "client")
}

func (p *protocol) isAnswer(title string) bool {
	about := p.files[title].Interlock
	return about != nil && len(about.Answers) > 0
}

func lastOf(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }
