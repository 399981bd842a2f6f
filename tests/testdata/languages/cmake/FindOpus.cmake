# Finds the codec.
find_path(OPUS_INCLUDE_DIR NAMES opus/opus.h)
find_library(OPUS_LIBRARY
  NAMES opus
  HINTS ENV OPUS_DIR)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Opus DEFAULT_MSG OPUS_LIBRARY OPUS_INCLUDE_DIR)
if(OPUS_FOUND AND NOT TARGET Opus::Opus)
  add_library(Opus::Opus UNKNOWN IMPORTED)
  set_target_properties(Opus::Opus PROPERTIES IMPORTED_LOCATION "${OPUS_LIBRARY}")
endif()
mark_as_advanced(OPUS_INCLUDE_DIR OPUS_LIBRARY)

set(_version_pattern "#[ \t]*define[ \t]+OPUS_VERSION[ \t]+([0-9]+).*")
set(_source "#include <opus.h>
int main(void)
{ return 0; }")
set(_done 1) # (the end
