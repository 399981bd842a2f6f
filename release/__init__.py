"""What leaves the repository: the files of a release (`make release`), and what tells hosts of the server (`release.outlets`)."""
