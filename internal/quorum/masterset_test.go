package quorum

import "testing"

func TestAMasterSetHasTheMastersThatWereAdded(t *testing.T) {
	var b MasterSet
	for _, master := range []int{0, 3, 3, 62} {
		b.Add(master)
	}
	b.Remove(3)
	b.Remove(5)
	if b.Len() != 2 || !b.Has(0) || b.Has(3) || !b.Has(62) {
		t.Errorf("0 and 62 were added, and 3 was removed again: %b", b)
	}
	if all := All(63); all.Len() != 63 || !all.Has(62) || all.Has(63) {
		t.Errorf("the first 63: %b", all)
	}
}
