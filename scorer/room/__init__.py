"""Running a program and recording what it did: launch grammar, clean room, observation, receipts."""
