"""A live room: pages that go where a teacher's goes, a poll, and pointing; without accounts."""
