// The second comment.
package atompmh
