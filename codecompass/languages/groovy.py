"""Groovy: only its imports, which Gradle projects mix with those of Java. It has no grammar, so it has no symbols."""

from codecompass.languages.jvm_imports import JVM_IMPORTS
from codecompass.languages.language import Language

GROOVY = Language(imports=JVM_IMPORTS)
