package metrics

// A lockMetric is a metric about locks, of one class.
type lockMetric struct {
	Desc
	samples func(c *class) []Sample
}

var lockMetrics = []lockMetric{
	{
		Desc{"redlock_waiting", "Calls that acquire a lock and have not returned yet.", Gauge, nil},
		func(c *class) []Sample { return one(c.waiting.Load()) },
	}, {
		Desc{"redlock_held", "Locks that are held.", Gauge, nil},
		func(c *class) []Sample { return one(c.held.Load()) },
	}, {
		Desc{"redlock_attempts_total", "Attempts to acquire a lock, by result.", Counter, []string{"result"}},
		func(c *class) []Sample { return each(callResults[:], c.attempts[:]) },
	}, {
		Desc{"redlock_retries_total", "Pauses between two attempts of a call, by what the first one failed for.", Counter, []string{"reason"}},
		func(c *class) []Sample { return each(retryReasons[:], c.retries[:]) },
	}, {
		Desc{"redlock_contended_total", "Calls that needed more than one attempt, or gave up because the lock was taken.", Counter, nil},
		func(c *class) []Sample { return one(c.contended.Load()) },
	}, {
		Desc{"redlock_reentered_total", "Calls that were let in because their context held the lock.", Counter, nil},
		func(c *class) []Sample { return one(c.reentered.Load()) },
	}, {
		Desc{"redlock_wait_seconds", "Time that calls took to acquire the lock or to give up, by result.", HistogramType, []string{"result"}},
		func(c *class) []Sample { return eachHistogram(callResults[:], c.waits[:], waitBounds) },
	}, {
		Desc{"redlock_hold_seconds", "Time that locks were held, by how that ended.", HistogramType, []string{"end"}},
		func(c *class) []Sample { return eachHistogram(holdEnds[:], c.holds[:], holdBounds) },
	}, {
		Desc{"redlock_renewals_total", "Renewals of held locks, by result; failed ones are tried again.", Counter, []string{"result"}},
		func(c *class) []Sample { return each(keepResults[:], c.renewals[:]) },
	}, {
		Desc{"redlock_renewal_seconds", "Time from the start of a renewal to its decision.", HistogramType, nil},
		func(c *class) []Sample {
			if h := c.renewing.snapshot(replyBounds); h != nil {
				return []Sample{{Histogram: h}}
			}
			return nil
		},
	}, {
		Desc{"redlock_extensions_total", "Extend, Verify and Downgrade by the holder, by result.", Counter, []string{"op", "result"}},
		func(c *class) []Sample {
			var samples []Sample
			for i, op := range extendOps {
				for _, s := range each(keepResults[:], c.extensions[i][:]) {
					s.Labels = append([]string{op}, s.Labels...)
					samples = append(samples, s)
				}
			}
			return samples
		},
	}, {
		Desc{"redlock_losses_total", "Locks that were lost, by reason; closed is the program's own doing. Leases that ended are not among them.", Counter, []string{"reason"}},
		func(c *class) []Sample { return each(lossReasons[:], c.losses[:]) },
	}, {
		Desc{"redlock_unlock_seconds", "Time that Unlock took, by result; unconfirmed releases are sent later or expire.", HistogramType, []string{"result"}},
		func(c *class) []Sample { return eachHistogram(unlockResults[:], c.unlocks[:], replyBounds) },
	},
}
