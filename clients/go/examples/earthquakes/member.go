package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"

	"interlock.internal/interlock"
)

// tag is what the workflow asks of members, as calculationNodesTags.
const tag = "earthquakes"

var (
	reports = interlock.Model{Name: "earthquake", Version: 1}
	alerts  = interlock.Model{Name: "earthquake-alert", Version: 1}
)

// report has what the processors read of a report. What they return is the whole document.
type report struct {
	ID       string `json:"id"`
	Geometry struct {
		Coordinates []json.Number `json:"coordinates"`
	} `json:"geometry"`
	Properties struct {
		Magnitude json.Number `json:"mag"`
		Place     any         `json:"place"`
		Tsunami   int         `json:"tsunami"`
		Alert     *string     `json:"alert"`
		Status    string      `json:"status"`
	} `json:"properties"`
}

// newMember returns the member that serves the workflow; it has not joined yet.
func newMember(server string, options ...interlock.Option) (*interlock.Member, error) {
	member, err := interlock.NewMember(server, append(options, interlock.WithTags(tag))...)
	if err != nil {
		return nil, err
	}
	member.Processor("assess", assess)
	member.Processor("raise-alert", raiseAlert)
	member.Processor("sign-off", signOff)
	return member, nil
}

// assess adds what the report does not say itself: how deep, and how much energy.
func assess(_ context.Context, call *interlock.Call) (any, error) {
	var read report
	if err := call.Decode(&read); err != nil {
		return nil, err
	}
	if len(read.Geometry.Coordinates) < 3 {
		return nil, interlock.Reject("the report has no depth")
	}
	depth := read.Geometry.Coordinates[2]
	class, err := depthClass(depth)
	if err != nil {
		return nil, err
	}
	joules, err := energy(read.Properties.Magnitude)
	if err != nil {
		return nil, err
	}
	document := call.Document()
	document["assessment"] = map[string]any{"depthKm": depth, "depthClass": class, "energyJoules": joules}
	return document, nil
}

// raiseAlert makes an alert, which is there only if the report gets to ALERTED.
func raiseAlert(ctx context.Context, call *interlock.Call) (any, error) {
	var read report
	if err := call.Decode(&read); err != nil {
		return nil, err
	}
	why, err := reasons(&read)
	if err != nil {
		return nil, err
	}
	alert, err := call.Tx.Create(ctx, alerts, map[string]any{
		"reportId":  read.ID,
		"place":     read.Properties.Place,
		"magnitude": read.Properties.Magnitude,
		"reasons":   why,
		"report":    call.EntityID,
	})
	if err != nil {
		return nil, err
	}
	document := call.Document()
	document["alertId"] = alert.EntityID
	return document, nil
}

// signOff marks a report as reviewed by the user who confirmed it. The report then goes
// through the criteria of ASSESSED once more, as a reviewed one.
func signOff(_ context.Context, call *interlock.Call) (any, error) {
	document := call.Document()
	properties, isObject := document["properties"].(map[string]any)
	if !isObject {
		return nil, interlock.Reject("the report has no properties")
	}
	document["review"] = map[string]any{"by": call.Caller.ID, "statusBefore": properties["status"]}
	properties["status"] = "reviewed"
	return document, nil
}

// depthClass names a depth as seismologists do.
func depthClass(km json.Number) (string, error) {
	depth, err := km.Float64()
	switch {
	case err != nil:
		return "", fmt.Errorf("the depth: %w", err)
	case depth < 70:
		return "shallow", nil
	case depth < 300:
		return "intermediate", nil
	}
	return "deep", nil
}

// energy estimates the energy that was radiated, in joules (Gutenberg and Richter, 1956):
// ten to the power of 1.5 times the magnitude plus 4.8, rounded.
func energy(magnitude json.Number) (*big.Int, error) {
	exponent, isNumber := new(big.Rat).SetString(magnitude.String())
	if !isNumber {
		return nil, fmt.Errorf("%q is not a magnitude", magnitude)
	}
	exponent.Mul(exponent, big.NewRat(3, 2)).Add(exponent, big.NewRat(24, 5))
	estimate, _ := exponent.Float64()
	joules := int64(math.Pow(10, estimate))
	if exponent.Sign() < 0 {
		return big.NewInt(joules), nil
	}
	// The estimate may be wrong in its last digit. With the exponent n/d, the next half h is too
	// low as long as h to the power of d is below ten to the power of n.
	power := new(big.Int).Exp(big.NewInt(10), exponent.Num(), nil)
	power.Mul(power, new(big.Int).Exp(big.NewInt(2), exponent.Denom(), nil))
	doubled := func(half int64) *big.Int { return new(big.Int).Exp(big.NewInt(half), exponent.Denom(), nil) }
	for doubled(2*joules+1).Cmp(power) < 0 {
		joules++
	}
	for joules > 0 && doubled(2*joules-1).Cmp(power) > 0 {
		joules--
	}
	return big.NewInt(joules), nil
}

// reasons says why a report is worth an alert, as the criteria of raise_alert do.
func reasons(read *report) ([]string, error) {
	given := []string{}
	if read.Properties.Tsunami == 1 {
		given = append(given, "tsunami warning")
	}
	if read.Properties.Alert != nil {
		given = append(given, "alert level "+*read.Properties.Alert)
	}
	magnitude, err := read.Properties.Magnitude.Float64()
	if err != nil {
		return nil, fmt.Errorf("the magnitude: %w", err)
	}
	if magnitude >= 5 {
		given = append(given, "magnitude "+read.Properties.Magnitude.String())
	}
	return given, nil
}
