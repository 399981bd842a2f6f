"""Stores of segments: the finished files of indexes, in a shared directory or in a bucket of a service that speaks S3."""
