package pipeline

import "testing"

func TestThreeIntegersAreReadWhole(t *testing.T) {
	for reply, want := range map[string]ThreeInts{
		"*3\r\n:0\r\n:0\r\n:0\r\n":                               {},
		"*3\r\n:1\r\n:1795276729558265\r\n:1795276729558266\r\n": {1, 1795276729558265, 1795276729558266},
		"*3\r\n:1\r\n:999999999999999999\r\n:007\r\n":            {1, 999999999999999999, 7},
	} {
		var got ThreeInts
		if ok := got.parse([]byte(reply)); !ok || got != want {
			t.Errorf("%q is %v, %v: want %v", reply, got, ok, want)
		}
		for n := range reply {
			if got.parse([]byte(reply[:n])) {
				t.Errorf("%q is %v", reply[:n], got)
			}
		}
	}
	for _, reply := range []string{
		"*3\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "*3\r\n:1\r\n:-2\r\n:3\r\n",
		"*3\r\n:1\r\n$1\r\n2\r\n:3\r\n", "*3\r\n:1\r\n:2000000000000000000\r\n:3\r\n", "*3\r\n:\r\n:2\r\n:3\r\n", "*3\r\n:+1\r\n:2\r\n:3\r\n",
		"*3\n:1\n:2\n:3\n", ":3\r\n",
	} {
		var got ThreeInts
		if got.parse([]byte(reply)) {
			t.Errorf("%q is %v", reply, got)
		}
	}
}
