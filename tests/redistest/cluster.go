package redistest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
)

// slots is how many hash slots a cluster has.
const slots = 16384

// StartCluster starts a cluster of that many masters, which share the slots in
// ranges: the first has the lowest. It is up when StartCluster returns. The
// options are those of every server.
func StartCluster(t testing.TB, version string, masters int, options ...Option) []*Server {
	t.Helper()
	options = append([]Option{Config("cluster-enabled", "yes"), Config("cluster-node-timeout", "2000")}, options...)
	all := make([]*Server, masters)
	for i := range all {
		all[i] = Start(t, version, options...)
		client := all[i].Client()
		if err := client.ClusterAddSlotsRange(t.Context(), i*slots/masters, (i+1)*slots/masters-1).Err(); err != nil {
			t.Fatal(err)
		}
		// Epochs that differ from the start need no agreement later.
		if err := client.Do(t.Context(), "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, other := range all[1:] {
		host, port, _ := net.SplitHostPort(other.Addr)
		if err := all[0].Client().ClusterMeet(t.Context(), host, port).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range all {
		s.awaitCluster(masters)
	}
	return all
}

// AddReplica starts a server that is a replica of one of the cluster's masters, and
// waits until it holds what that one holds and all of the cluster know it.
func AddReplica(t testing.TB, cluster []*Server, master *Server, options ...Option) *Server {
	t.Helper()
	options = append([]Option{Config("cluster-enabled", "yes"), Config("cluster-node-timeout", "2000")}, options...)
	s := Start(t, master.Version, options...)
	host, port, _ := net.SplitHostPort(master.Addr)
	if err := s.Client().ClusterMeet(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	id := master.Client().Do(t.Context(), "CLUSTER", "MYID").Val()
	s.await("the replica knows its master", func() bool {
		return s.Client().Do(t.Context(), "CLUSTER", "REPLICATE", id).Err() == nil
	})
	s.await("the replica is in step with its master", func() bool {
		return strings.Contains(s.Client().Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	self := fmt.Sprint(s.Client().Do(t.Context(), "CLUSTER", "MYID").Val())
	for _, other := range cluster {
		other.await("the cluster knows the replica", func() bool {
			for line := range strings.Lines(other.Client().ClusterNodes(t.Context()).Val()) {
				if strings.HasPrefix(line, self) && strings.Contains(line, "slave") {
					return true
				}
			}
			return false
		})
	}
	return s
}

// awaitCluster waits until the server says that the whole cluster is up.
func (s *Server) awaitCluster(masters int) {
	s.t.Helper()
	want := []string{"cluster_state:ok\r\n", "cluster_slots_assigned:16384\r\n", fmt.Sprintf("cluster_size:%d\r\n", masters)}
	s.await("the cluster is up", func() bool {
		info := s.Client().ClusterInfo(s.t.Context()).Val()
		return !slices.ContainsFunc(want, func(line string) bool { return !strings.Contains(info, line) })
	})
}
