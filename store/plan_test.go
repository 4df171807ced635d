package store

import (
	"strings"
	"testing"
)

// TestPlans asks SQLite's planner how it would run the queries that must not
// read a whole set.
func TestPlans(t *testing.T) {
	s, err := Open(t.Context(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	many := marks(100)
	for _, test := range []struct{ query, want string }{
		{"SELECT " + changeColumns + " FROM changes WHERE set_id = ? AND position > ? AND position <= ? ORDER BY position LIMIT ?", "(set_id=? AND position>? AND position<?)"},
		{"SELECT " + changeColumns + " FROM changes WHERE set_id = ? AND position IN (" + many + ")", "(set_id=? AND position=?)"},
		{"SELECT " + recordColumns + " FROM records WHERE set_id = ? AND number > ? ORDER BY number LIMIT ?", "(set_id=? AND number>?)"},
		{"SELECT " + recordColumns + " FROM records WHERE set_id = ? AND id_hash IN (" + many + ")", "(set_id=? AND id_hash=?)"},
		{"SELECT * FROM documents WHERE set_id = ? AND path IN (" + many + ")", "(set_id=? AND path=?)"},
		{"DELETE FROM documents WHERE set_id = ? AND epoch = ? AND snapshot IN (?, ?)", "(set_id=? AND epoch=? AND snapshot=?)"},
		{"SELECT path FROM documents WHERE set_id = ? AND epoch < ? LIMIT 500", "(set_id=? AND epoch<?)"},
		{"SELECT object FROM documents WHERE object IN (" + many + ")", "(object=?)"},
		{"SELECT object FROM objects WHERE object IN (" + many + ")", "(object=?)"},
		{"DELETE FROM writes WHERE set_id = ? AND token IN (" + many + ")", "(set_id=? AND token=?)"},
		{"SELECT token FROM writes WHERE set_id = ? AND at < ? ORDER BY at LIMIT ?", "(set_id=? AND at<?)"},
		{"SELECT set_id FROM heads WHERE due <= ? ORDER BY due, set_id LIMIT ?", "COVERING INDEX heads_due (due<?)"},
		{viewQuery() + " WHERE s.name > ? AND s.private = 0 ORDER BY s.name LIMIT ?", "INDEX sets_name (name>?)"},
	} {
		plan := explain(t, s, test.query)
		if !strings.Contains(plan, test.want) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%.120s\nplan %s\nwant %s", test.query, plan, test.want)
		}
	}
	if plan := explain(t, s, viewQuery()+" WHERE s.name = ?"); strings.Contains(plan, "SCAN") {
		t.Errorf("a view scans: %s", plan)
	}
}

func explain(t *testing.T, s *Store, query string) string {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	for i := range args {
		args[i] = 1
	}
	rows, err := s.reader.Statement.ConnPool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	return strings.Join(plan, "; ")
}
