package redis

import "testing"

func TestReplicasThatAreBehind(t *testing.T) {
	for line, want := range map[string]int64{
		"slave0:ip=10.0.0.2,port=6379,state=online,offset=42,lag=1":    0,
		"slave0:ip=10.0.0.2,port=6379,state=online,offset=42,lag=10":   1,
		"slave1:ip=::1,port=6379,state=wait_bgsave,offset=0,lag=0":     1,
		"slave12:ip=10.0.0.2,port=6379,state=online,offset=42,lag=999": 1,
		"slave_repl_offset:42":     0,
		"slave_read_only:1":        0,
		"connected_slaves:3":       0,
		"slave0:ip=,state=online,": 0,
	} {
		if got := settingsOf(line + "\r\n").Lagging; got != want {
			t.Errorf("%s: %d are behind, want %d", line, got, want)
		}
	}
}

func TestWhatInfoTellsOfTheState(t *testing.T) {
	s := settingsOf("used_memory:123\r\nmaxmemory:456\r\nconnected_clients:7\r\nmaxclients:8\r\naof_last_write_status:err\r\n" +
		"rdb_last_bgsave_status:ok\r\nconnected_slaves:2\r\nmin_slaves_good_slaves:1\r\nrole:slave\r\n")
	if s.UsedMemory != 123 || s.MaxMemory != 456 || s.Clients != 7 || s.MaxClients != 8 || !s.AppendFailed || s.SnapshotFailed ||
		s.Replicas != 2 || s.GoodReplicas != 1 || !s.Replica {
		t.Errorf("%+v", s)
	}
}
