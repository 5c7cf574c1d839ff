package interlock_test

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
)

func TestTheClassesAndRemediesAreThoseOfAllClients(t *testing.T) {
	var shared struct {
		Classes     map[string][]api.Code `json:"classes"`
		ClientCodes map[api.Code]string   `json:"clientCodes"`
	}
	read(t, "../errors.json", &shared)
	var index struct {
		Errors []struct {
			Code    api.Code `json:"code"`
			Meaning string   `json:"meaning"`
		} `json:"errors"`
	}
	read(t, "../schema/index.json", &index)
	classes := map[string]error{
		"NotFound": interlock.ErrNotFound, "Conflict": interlock.ErrConflict, "ModelState": interlock.ErrModelState,
		"InvalidRequest": interlock.ErrInvalidRequest, "WorkflowFailed": interlock.ErrWorkflowFailed,
		"ComputeUnavailable": interlock.ErrComputeUnavailable, "Access": interlock.ErrAccess,
		"Cancelled": interlock.ErrCancelled, "Limit": interlock.ErrLimit, "ConnectionLost": interlock.ErrConnectionLost,
	}
	remedies := map[api.Code]string{}
	for _, one := range index.Errors {
		remedies[one.Code] = one.Meaning
	}
	for _, code := range []api.Code{
		interlock.CodeConnectionLost, interlock.CodeClientClosed, interlock.CodeMessageTooLarge,
		interlock.CodeAnswerNotRead, interlock.CodeServerNotUnderstood, interlock.CodeNotSupported,
		interlock.CodeInvalidOptions,
	} {
		remedies[code] = shared.ClientCodes[code]
	}
	of := map[api.Code]string{}
	for name, codes := range shared.Classes {
		for _, code := range codes {
			of[code] = name
		}
	}
	for code, remedy := range remedies {
		failure := &interlock.Error{Code: code}
		if remedy == "" || failure.Remedy() != remedy {
			t.Errorf("the remedy of %s is %q, not %q", code, failure.Remedy(), remedy)
		}
		for name, class := range classes {
			if errors.Is(failure, class) != (of[code] == name) {
				t.Errorf("%s is of class %q, unlike %q", code, of[code], name)
			}
		}
	}
	if !errors.Is(&interlock.Error{Code: "SHELF_NOT_FOUND"}, interlock.ErrNotFound) {
		t.Error("a code of a newer server is not found as one")
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, json.Unmarshal(text, into))
}
