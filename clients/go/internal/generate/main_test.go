package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIsCommittedIsWhatIsGenerated(t *testing.T) {
	files, err := generate("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, wanted := range files {
		committed, err := os.ReadFile(filepath.Join("../../api", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(committed, wanted) {
			t.Errorf("api/%s is stale; execute `go generate ./...` in clients/go", name)
		}
	}
}

func TestNamesFollowTheCustomsOfGo(t *testing.T) {
	for wire, name := range map[string]string{
		"entityId": "EntityID", "entityIds": "EntityIDs", "jsonPath": "JSONPath", "ENTITY_NOT_FOUND": "EntityNotFound",
		"id": "ID", "jwksUrl": "JWKSURL", "JSON": "JSON", "transactionWindow": "TransactionWindow",
	} {
		if got := goName(wire); got != name {
			t.Errorf("%s became %s, not %s", wire, got, name)
		}
	}
}

func TestAnAddedMemberBecomesAField(t *testing.T) {
	protocol, err := readProtocol("../../../schema")
	if err != nil {
		t.Fatal(err)
	}
	protocol.files["EntityGetRequest"].Properties["withHistory"] = &schema{
		Description: "Whether to include its history.", Type: kinds{"boolean"},
	}
	source, err := protocol.types()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains([]byte(source), []byte("WithHistory *bool `json:\"withHistory,omitempty\"`")) {
		t.Error("the field is missing")
	}
}
