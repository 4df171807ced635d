package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"

	"gateway/atompmh"
	"gateway/model"
	"gateway/resourcesync"
)

type setCommand struct {
	storeFlags `embed:""`

	Name   string `arg:"" help:"The set's name: 1 to 64 of a-z 0-9 - _."`
	Create bool   `help:"Make the set if it is not there."`
	JSON   bool   `help:"Show the set as JSON."`

	Title       *string `placeholder:"TEXT" help:"Its title." group:"What to change"`
	Description *string `placeholder:"TEXT" help:"A sentence or two about it." group:"What to change"`
	DescribedBy *string `name:"describedby" placeholder:"URL" help:"Where it is described." group:"What to change"`
	AuthorName  *string `placeholder:"TEXT" help:"Who its feeds name as their author; without one it is the title." group:"What to change"`
	AuthorEmail *string `placeholder:"EMAIL" help:"The author's address." group:"What to change"`
	AuthorURI   *string `name:"author-uri" placeholder:"URL" help:"The author's home page." group:"What to change"`

	Policy map[string]string `mapsep:"none" placeholder:"KEY=VALUE" help:"A value of its policy; can be repeated. Keys: ${policy_keys}." group:"What to change"`
}

// Help is shown by set --help.
func (*setCommand) Help() string {
	return `Shows a set, after changing what the flags say. An empty value takes a text away.

Examples:

    gateway set theses
    gateway set theses --title "Doctoral theses" --author-name "The University Library"
    gateway set theses --policy segment_size=500 --policy snapshot_interval=24h
    gateway set theses --create --json`
}

func policyKeys() string { return strings.Join(model.Policy{}.Keys(), ", ") }

func (s *setCommand) Run(c *call) error {
	if !model.ValidSetName(s.Name) {
		return usagef("%q is not a set's name; want 1 to 64 of a-z 0-9 - _", s.Name)
	}
	st, err := s.open(c, s.Create)
	if err != nil {
		return err
	}
	defer st.Close()
	if s.Create {
		// A set is published somewhere from its creation on.
		if _, err := st.settleBaseURL(c.ctx, "", "http://"+defaultListen, false); err != nil {
			return err
		}
	}
	if err := s.apply(c, st); err != nil {
		var field *model.FieldError
		if errors.As(err, &field) {
			return usageError{err}
		}
		return err
	}
	v, err := st.View(c.ctx, s.Name, "")
	if err != nil {
		return err
	}
	base, err := st.BaseURL(c.ctx)
	if err != nil {
		return err
	}
	if s.JSON {
		return showSetJSON(c.con.out, &v)
	}
	return showSetText(c.con.out, base, &v)
}

// apply makes the set if it is asked for and changes what the flags say.
func (s *setCommand) apply(c *call, st *opened) error {
	if _, err := st.Set(c.ctx, s.Name); errors.Is(err, model.ErrNotFound) {
		if !s.Create {
			return usagef("there is no set %q; --create makes it", s.Name)
		}
		set := model.Set{Name: s.Name, Policy: model.DefaultPolicy()}
		if err := s.change(&set); err != nil {
			return err
		}
		if _, err = st.CreateSet(c.ctx, set); !errors.Is(err, model.ErrExists) {
			return err
		}
		// Another process was faster; what the flags say is still to be done.
	} else if err != nil {
		return err
	}
	if !s.changes() {
		return nil
	}
	_, err := st.UpdateSet(c.ctx, s.Name, s.change)
	return err
}

// texts pairs the flags with the fields of set that they change.
func (s *setCommand) texts(set *model.Set) map[*string]*string {
	return map[*string]*string{
		s.Title: &set.Title, s.Description: &set.Description, s.DescribedBy: &set.DescribedBy,
		s.AuthorName: &set.Author.Name, s.AuthorEmail: &set.Author.Email, s.AuthorURI: &set.Author.URI,
	}
}

// changes tells whether there is anything to change.
func (s *setCommand) changes() bool {
	texts := s.texts(&model.Set{})
	delete(texts, nil)
	return len(texts)+len(s.Policy) > 0
}

func (s *setCommand) change(set *model.Set) error {
	for from, to := range s.texts(set) {
		if from != nil {
			*to = *from
		}
	}
	for key, value := range s.Policy {
		if err := set.Policy.Set(key, value); err != nil {
			return err
		}
	}
	return set.Validate()
}

// showSetText prints v for people.
func showSetText(to io.Writer, base string, v *model.View) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(name string, value any) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%v\n", name, value)
		}
	}
	line("name", v.Set.Name)
	line("title", v.Set.Title)
	line("description", v.Set.Description)
	line("describedby", v.Set.DescribedBy)
	line("author", strings.Join(strings.Fields(v.Set.Author.Name+" "+v.Set.Author.Email+" "+v.Set.Author.URI), " "))
	line("feed", base+atompmh.SubscriptionPath(v.Set.Name))
	line("capabilities", base+resourcesync.CapabilityListPath(v.Set.Name))
	line("created", v.Set.Created)
	line("records", v.Head.Records)
	line("resources", v.Head.Resources.Entries)
	line("changes", fmt.Sprintf("%d (%d created, %d updated, %d deleted), the last at %s", v.Head.Position,
		v.Head.Changes[model.Created], v.Head.Changes[model.Updated], v.Head.Changes[model.Deleted], v.Head.Changed))
	line("segments", v.Head.Segments)
	line("snapshot", fmt.Sprintf("%d, of change %d, with %d resources", v.Snapshot.Number, v.Snapshot.Position, v.Snapshot.Resources))
	line("epoch", fmt.Sprintf("%d (%s)", v.Epoch.Number, v.Epoch.Reason))
	policy := reflect.ValueOf(v.Set.Policy)
	for i := range policy.NumField() {
		name := policy.Type().Field(i).Tag.Get("json")
		value := strings.Trim(fmt.Sprint(policy.Field(i)), "[]")
		line("policy "+name, strings.ReplaceAll(value, " ", ","))
	}
	return w.Flush()
}

// setJSON is a set with what is counted in it.
type setJSON struct {
	model.Set
	Created string `json:"created"`
	Records int64  `json:"records"`
	// Resources are those of live records, external ones included.
	Resources int              `json:"resources"`
	Changes   map[string]int64 `json:"changes"`
	Segments  int64            `json:"segments"`
	Epoch     int64            `json:"epoch"`
	Head      struct {
		Position int64  `json:"position"`
		Time     string `json:"time"`
	} `json:"head"`
	Snapshot struct {
		Number   int64 `json:"number"`
		Position int64 `json:"position"`
	} `json:"snapshot"`
}

func showSetJSON(to io.Writer, v *model.View) error {
	s := setJSON{
		Set: v.Set, Created: v.Set.Created.String(), Records: v.Head.Records, Resources: v.Head.Resources.Entries,
		Segments: int64(v.Head.Segments), Epoch: int64(v.Epoch.Number), Changes: map[string]int64{},
	}
	for _, kind := range []model.Kind{model.Created, model.Updated, model.Deleted} {
		s.Changes[kind.String()] = v.Head.Changes[kind]
	}
	s.Head.Position, s.Head.Time = int64(v.Head.Position), v.Head.Changed.String()
	s.Snapshot.Number, s.Snapshot.Position = int64(v.Snapshot.Number), int64(v.Snapshot.Position)
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(s)
}
