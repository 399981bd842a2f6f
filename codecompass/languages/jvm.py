"""What Java, Kotlin and Scala have in common: they see each other's definitions."""

from typing import Final

from codecompass.languages.words import word_set

JVM_UNWRAPPING: Final = word_set("get orElse orElseThrow join also apply orElseGet await")
"""Members of futures and optional values that return what they hold."""
