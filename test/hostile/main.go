// SPDX-License-Identifier: Apache-2.0

// Command hostile attacks a fabric from a segment of its own, at full rate, in
// every way it knows, while an honest host sends it a flow whose every byte is
// checked. It fails where something crashes, is lost or wrong in the flow, where
// memory grows beyond its bounds, or where a frame counts under no reason. What
// the honest flow keeps of its rate is measured against a bar.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/tbnet2/tbnet2/bench"
	"github.com/tbnet2/tbnet2/test/rig"
)

// keptBar is the percentage of its rate that the honest flow shall keep.
const keptBar = 80

// quietLeast is how many undisturbed rounds it takes to judge the rate.
const quietLeast = 4

// warmUp lets the flow find its rate and the liars their associations.
const warmUp = 500 * time.Millisecond

// heapMost is how much more the process may hold under attack, bytes: of
// docs/protocol.md 9 256 MiB for all peers, and for each of 256 1 MiB that it
// always has and 16 packets that are next in turn; a quarter more for the
// associations themselves, the links' rings and the attacker.
const heapMost = 1 << 30

func main() {
	out := flag.String("out", "build/bench/hostile.json", "file to write")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of what the attacker makes up")
	whole := flag.Duration("time", 10*time.Second, "of the attack in every way at once; each way alone takes a fifth")
	pick := flag.String("case", ".", "pattern of the attacks to run")
	flag.Parse()
	re, err := regexp.Compile(*pick)
	if err == nil {
		fmt.Printf("seed %d (-seed %d repeats the frames)\n", *seed, *seed)
		err = run(context.Background(), *out, *seed, *whole, re)
	}
	if err != nil {
		rig.Fail(err)
	}
}

func run(ctx context.Context, out string, seed uint64, whole time.Duration, pick *regexp.Regexp) error {
	r := bench.New("hostile")
	var bars rig.Bars
	var errs []error
	for _, kind := range append(attacks[:len(attacks):len(attacks)], everything) {
		if !pick.MatchString(kind.name) {
			continue
		}
		d := whole / 5
		if kind.name == everything.name {
			d = whole
		}
		v, err := fight(ctx, kind, seed, d)
		if err != nil {
			errs = append(errs, fmt.Errorf("attack %s, seed %d: %w", kind.name, seed, err))
		}
		fmt.Println(v)
		r.Rows = append(r.Rows, v.rows()...)
		if v.quiet < quietLeast {
			fmt.Printf("%s: the rate is not judged: it takes %d rounds that other work does not disturb, here were %d of %d\n", kind.name, quietLeast, v.quiet, v.all)
			continue
		}
		bars.AtLeast(kind.name+" kept_pct", v.kept(alone), keptBar)
		if v.kept(alone) < keptBar {
			errs = append(errs, fmt.Errorf("attack %s: the honest flow kept %.1f %% of its rate, shall keep %d", kind.name, v.kept(alone), keptBar))
		}
	}
	if len(r.Rows) == 0 {
		return errors.New("-case matches no attack")
	}
	if _, err := r.Write(filepath.Dir(out)); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, r.Table(os.Stdout), bars.Print(os.Stdout))
	return errors.Join(errs...)
}

// verdict is what came of an attack.
type verdict struct {
	name   string
	rounds rounds
	all    int     // rounds that were made
	quiet  int     // that nothing disturbed; only these are in rounds, unless it is 0
	sent   float64 // hostile frames a second
	heap   uint64  // bytes
	sums   sums
	drops  string
	missed uint64
}

func (v *verdict) String() string {
	r := v.rounds
	return fmt.Sprintf("%s: %.3g Mframes/s sent; honest flow %.0f Mb/s, %.0f while nobody heard them, %.0f alone (on %.1f, %.1f, %.1f processors, %d quiet rounds); it missed %d; heap +%d MiB; %d frames received = %d taken + %d dropped: %s",
		v.name, v.sent/1e6, r.rate(attacked)/1e6, r.rate(unheard)/1e6, r.rate(alone)/1e6,
		r.processors(attacked), r.processors(unheard), r.processors(alone), v.quiet, v.missed, v.heap>>20,
		v.sums.received, v.sums.taken, v.sums.dropped, v.drops)
}

// kept is the percentage of its rate in another turn that the honest flow kept
// under attack.
func (v *verdict) kept(of turn) float64 { return 100 * v.rounds.rate(attacked) / v.rounds.rate(of) }

func (v *verdict) rows() []bench.Row {
	row := func(metric, unit string, figure float64) bench.Row {
		return bench.Row{Case: v.name, Metric: metric, Unit: unit, Ours: figure, Simulated: true, Runs: len(v.rounds)}
	}
	return []bench.Row{row("kept_pct", "%", v.kept(alone)), row("kept_of_unheard_pct", "%", v.kept(unheard)),
		row("quiet_rounds", "rounds", float64(v.quiet)), row("attack_rate", "frames/s", v.sent), row("heap_growth", "MiB", float64(v.heap>>20)),
		row("received", "frames", float64(v.sums.received)), row("taken", "frames", float64(v.sums.taken)), row("dropped", "frames", float64(v.sums.dropped))}
}

// fight measures the honest flow in turns, until the victim was under attack for d.
func fight(ctx context.Context, kind attack, seed uint64, d time.Duration) (v *verdict, err error) {
	v = &verdict{name: kind.name}
	s, err := openScene(ctx, kind, seed)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	time.Sleep(warmUp)
	w := watchHeap()
	all, sent, err := s.duel(kind, newGrammar(seed), d)
	st := s.victim.Status()
	v.sent = float64(sent) / (time.Duration(len(all)) * turnLength).Seconds()
	v.all = len(all)
	if v.rounds = all.quiet(); len(v.rounds) == 0 {
		v.rounds = all
	} else {
		v.quiet = len(v.rounds)
	}
	v.heap = w.stop()
	err = errors.Join(err, bounded(&st), s.quiet())
	sums, unsettled := s.settled(ctx)
	st = s.victim.Status()
	v.sums, v.drops, v.missed = sums, tell(&st), s.flow.missed.Load()
	err = errors.Join(err, unsettled, s.flow.err())
	if v.heap > heapMost {
		err = errors.Join(err, fmt.Errorf("the live heap grew by %d MiB, at most %d are spoken for", v.heap>>20, heapMost>>20))
	}
	if v.rounds.rate(attacked) == 0 {
		err = errors.Join(err, errors.New("nothing of the honest flow came through"))
	}
	return v, err
}
