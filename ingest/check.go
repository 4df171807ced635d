package ingest

import (
	"fmt"
	"mime"
	"strings"
	"time"

	"gateway/model"
)

// check makes texts for people fit for XML, with a warning for each that was
// changed, and then wants a record that a set can take.
func (in *input) check(setFrom string, warn func(field, reason string)) error {
	if in.Deleted {
		return in.checkDeleted(setFrom)
	}
	in.clean(warn)
	if err := in.Validate(); err != nil {
		return err
	}
	if in.Modified != "" && !validDate(in.Modified) {
		return &model.FieldError{Field: "modified", Reason: fmt.Sprintf("%s is neither a date (2020-01-31) nor an RFC 3339 time (2020-01-31T00:00:00Z)", shorten(in.Modified))}
	}
	for i := range in.Resources {
		if err := checkParameters(in.Resources[i].Type); err != nil {
			return within(in.resourceField(i)+".type", err)
		}
	}
	return nil
}

// checkDeleted wants nothing beside the identifier, but for the collections when
// they name the set.
func (in *input) checkDeleted(setFrom string) error {
	if setFrom == "collections" {
		in.Collections = nil
	}
	for _, f := range []struct {
		field string
		given bool
	}{
		{"title", in.Title != ""}, {"summary", in.Summary != ""}, {"collections", in.Collections != nil}, {"modified", in.Modified != ""},
		{"representations", in.representations > 0}, {"files", in.files > 0}, {"links", in.Links != nil},
	} {
		if f.given {
			return &model.FieldError{Field: f.field, Reason: "stands beside deleted; a deletion has nothing but the identifier"}
		}
	}
	return in.Validate()
}

func (in *input) clean(warn func(field, reason string)) {
	for _, field := range in.replaced {
		warn(field, "half of a surrogate pair, which is no character, became U+FFFD")
	}
	clean := func(field string, s *string) {
		v, changed := model.CleanText(*s)
		if changed {
			*s = v
			warn(field, "characters that XML cannot carry became U+FFFD")
		}
	}
	clean("title", &in.Title)
	clean("summary", &in.Summary)
	for i := range in.Collections {
		clean(fmt.Sprintf("collections[%d]", i), &in.Collections[i])
	}
	for i := range in.Links {
		clean(fmt.Sprintf("links[%d].title", i), &in.Links[i].Title)
	}
}

// resourceField names the i-th resource as the sender sees it.
func (in *input) resourceField(i int) string {
	if i < in.representations {
		return fmt.Sprintf("representations[%d]", i)
	}
	return fmt.Sprintf("files[%d]", i-in.representations)
}

// checkParameters wants parameters that a Content-Type header can carry, and
// the profile in its own field, where it is compared and listed.
func checkParameters(mediaType string) error {
	if !strings.Contains(mediaType, ";") {
		return nil
	}
	_, parameters, err := mime.ParseMediaType(mediaType)
	if err != nil {
		return &model.FieldError{Reason: fmt.Sprintf("%s is not a media type with parameters: %v", shorten(mediaType), err)}
	}
	if _, ok := parameters["profile"]; ok {
		return &model.FieldError{Reason: `holds a profile parameter; give it as the field "profile"`}
	}
	return nil
}

// validDate tells whether s is a date or time of the W3C's profile of ISO 8601,
// which RFC 3339 times belong to.
func validDate(s string) bool {
	date, clock, isTime := strings.Cut(s, "T")
	if !isTime {
		for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
			if _, err := time.Parse(layout, s); err == nil {
				return true
			}
		}
		return false
	}
	if len(clock) > 5 && strings.IndexByte("Z+-", clock[5]) >= 0 { // hh:mm, without seconds
		s = date + "T" + clock[:5] + ":00" + clock[5:]
	}
	// Unlike time.Parse, UnmarshalText wants every digit. Both take a comma.
	return !strings.Contains(s, ",") && new(time.Time).UnmarshalText([]byte(s)) == nil
}
