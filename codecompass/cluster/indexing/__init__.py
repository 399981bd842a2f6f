"""The workers: they fetch remotes, index them and publish the files."""
