package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/internal/servertest"
)

const files = "../../../python/examples/earthquakes"

// table is what the example in Python ends with.
const table = `
earthquake           entities
  ROUTINE                1362
  NOTABLE                 177
  AWAITING_REVIEW          96
  ALERTED                  44
  SET_ASIDE                28
  together               1707

earthquake-alert     entities
  OPEN                     44
  together                 44
`

func TestAllReportsAreLoadedOnce(t *testing.T) {
	server := servertest.Start(t, nil)
	arguments := []string{"-with-member", "-server", server.Target, "-files", files}
	printed := execute(t, arguments)
	for _, wanted := range []string{"1707 reports added\n", "13 automatic reports from magnitude 3 on confirmed\n", table} {
		if !strings.Contains(printed, wanted) {
			t.Fatalf("%q is missing in\n%s", wanted, printed)
		}
	}
	printed = execute(t, arguments)
	for _, wanted := range []string{"1707 of them are there already\n", "\n0 reports added\n", table} {
		if !strings.Contains(printed, wanted) {
			t.Fatalf("the second time, %q is missing in\n%s", wanted, printed)
		}
	}
	check(t, server)
}

func execute(t *testing.T, arguments []string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(servertest.Context(t), arguments, &out); err != nil {
		t.Fatalf("%v after\n%s", err, out.String())
	}
	return out.String()
}

// check compares reports with alerts, and one report with the file.
func check(t *testing.T, server *servertest.Server) {
	t.Helper()
	client, err := interlock.New(server.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	alerted := map[string]string{} // ids of alerts by ids of reports
	for alert, err := range client.List(servertest.Context(t), alerts) {
		if err != nil {
			t.Fatal(err)
		}
		alerted[alert.Document()["reportId"].(string)] = alert.ID
	}
	reviewed := 0
	for entity, err := range client.List(servertest.Context(t), reports) {
		if err != nil {
			t.Fatal(err)
		}
		document := entity.Document()
		id := document["id"].(string)
		if alert, _ := document["alertId"].(string); alert != alerted[id] || (entity.State == "ALERTED") != (alert != "") {
			t.Errorf("%s is in %s with the alert %q, not %q", id, entity.State, alert, alerted[id])
		}
		if document["review"] != nil {
			reviewed++
		}
		if id == "ci37868143" {
			coordinates := document["geometry"].(map[string]any)["coordinates"].([]any)
			joules := document["assessment"].(map[string]any)["energyJoules"]
			if coordinates[0] != json.Number("-118.6671667") || joules != json.Number("63095734") {
				t.Errorf("the digits changed: %s", entity.Data)
			}
		}
	}
	if reviewed != 13 {
		t.Errorf("%d reports were reviewed", reviewed)
	}
}

func TestMemberAndLoaderCanBeTwoPrograms(t *testing.T) {
	server := servertest.Start(t, map[string]string{"CYODA_DISPATCH_WAIT_TIMEOUT": "10s"})
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- run(running, []string{"-member", "-server", server.Target}, &bytes.Buffer{})
	}()
	if printed := execute(t, []string{"-server", server.Target, "-files", files}); !strings.Contains(printed, table) {
		t.Errorf("it ended with\n%s", printed)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWhatIsMissingIsAnErrorOfItsClass(t *testing.T) {
	server := servertest.Start(t, nil)
	err := run(servertest.Context(t), []string{"-server", server.Target, "-files", files}, &bytes.Buffer{})
	if !errors.Is(err, api.CodeNoComputeMemberForTag) {
		t.Errorf("without a member: %v", err)
	}
	for _, more := range []string{"-with-member=false", "-with-member"} {
		err = run(servertest.Context(t), []string{"-server", "127.0.0.1:1", "-timeout", "200ms", more}, &bytes.Buffer{})
		if !errors.Is(err, interlock.ErrConnectionLost) || !strings.Contains(err.Error(), "no answer from 127.0.0.1:1") {
			t.Errorf("without a server: %v", err)
		}
	}
}

func TestTheEnergyIsThatOfThePythonExample(t *testing.T) {
	// round(10 ** (Decimal("1.5") * magnitude + Decimal("4.8")))
	for magnitude, joules := range map[json.Number]string{
		"-0.6": "7943", "0": "63096", "2": "63095734", "4.45": "298538261892", "5.2": "3981071705535",
		"6.1": "89125093813375", "6.4": "251188643150958", "7.9": "44668359215096312",
	} {
		if got, err := energy(magnitude); err != nil || got.String() != joules {
			t.Errorf("%s has %s J, not %s (%v)", magnitude, got, joules, err)
		}
	}
}
