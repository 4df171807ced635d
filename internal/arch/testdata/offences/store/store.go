// Package store is fine.
package store

import (
	_ "gateway/model"

	_ "gorm.io/gorm"
)
