package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rs/xid"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/doctor"
	"github.com/redquorum/redquorum/drift"
)

// A fleetsReport is what --json prints of several fleets.
type fleetsReport struct {
	CanLock bool          `json:"can_lock"` // in all of them
	Worst   string        `json:"worst"`    // the name of the fleet with the worst verdict
	Fleets  []fleetReport `json:"fleets"`
	// Findings are about several fleets together.
	Findings []doctor.Finding `json:"findings"`
}

// A fleetReport is one of them.
type fleetReport struct {
	Name string `json:"name"`
	*doctor.Report
}

// all are the findings in all fleets.
func (r *fleetsReport) all() []doctor.Finding {
	found := slices.Clone(r.Findings)
	for _, f := range r.Fleets {
		found = append(found, f.Findings...)
	}
	return found
}

// verdicts are those of the fleets, in their order.
func (r *fleetsReport) verdicts() (all []*doctor.Verdict) {
	for _, f := range r.Fleets {
		all = append(all, &f.Verdict)
	}
	return all
}

// optionsFor say how the fleets are examined.
func (o *doctorOptions) optionsFor(list []fleet) ([]doctor.Options, error) {
	all := make([]doctor.Options, len(list))
	for i, f := range list {
		options, err := verdictOptions(f.urls, &o.accessFlags)
		if err != nil {
			return nil, err
		}
		options.For, options.Key = o.exam, o.key
		if o.key == "" {
			options.Key = "redlock-demo:doctor:" + xid.New().String()
		}
		all[i] = options
	}
	return all, nil
}

// examine examines all fleets at once. The error is as that of doctor.Examine.
func (o *doctorOptions) examine(ctx context.Context, list []fleet, options []doctor.Options) (*fleetsReport, error) {
	facts, errs := make([][]doctor.Facts, len(list)), make([]error, len(list))
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() { facts[i], errs[i] = doctor.Examine(ctx, options[i]) })
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	r := &fleetsReport{Findings: []doctor.Finding{}}
	names := make([]string, len(list))
	for i, f := range list {
		verdict, found := doctor.Judge(facts[i], drift.System().Now(), doctor.Client{MaxTTL: o.maxTTL, Skew: o.skew})
		r.Fleets = append(r.Fleets, fleetReport{f.name, doctor.NewReport(facts[i], verdict, found)})
		names[i] = f.name
	}
	worst := doctor.WorstVerdict(r.verdicts())
	r.Worst, r.CanLock = names[worst], r.Fleets[worst].CanLock
	r.Findings = append(r.Findings, doctor.JudgeApart(names, facts)...)
	return r, nil
}

// showFleets prints the report on several fleets: the worst comes last.
func (o *doctorOptions) showFleets(a *app, view *doctorView, r *fleetsReport) error {
	if o.json {
		return writeJSON(a.out, r)
	}
	var b bytes.Buffer
	for _, f := range r.Fleets {
		view.wrapped(&b, "", 0, fmt.Sprintf("Fleet %q", f.Name))
		view.report(&b, f.Report)
		b.WriteByte('\n')
	}
	if len(r.Findings) > 0 {
		view.wrapped(&b, "", 0, "The fleets together")
		view.findings(&b, r.Findings)
		b.WriteByte('\n')
	}
	view.headline(&b, r.CanLock, worstLine(r.Worst, r.verdicts()[doctor.WorstVerdict(r.verdicts())]))
	return emit(view.out, &b)
}

// worstLine ends a report on several fleets.
func worstLine(name string, v *doctor.Verdict) string {
	return fmt.Sprintf("The worst is fleet %q. %s", name, v)
}
