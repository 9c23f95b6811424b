# The component 'runtime' in `cmake --install`: headers, libtransom as a shared and as one static library, the CMake package
# 'transom' and transom.pc. A project that adds this folder can also link to transom::transom or transom::static.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The parts in the static library, from the top layer to the bottom layer.
set(TRANSOM_RUNTIME_PARTS transom-runtime transom-text transom-session transom-decode transom-execute transom-artifact
  transom-generate transom-tokenizer transom-manifest transom-json transom-base)

# One archive with all parts, so that an application links a single library.
set(bundle ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libtransom.a)
set(script "CREATE ${bundle}\n")
foreach(part ${TRANSOM_RUNTIME_PARTS})
  string(APPEND script "ADDLIB $<TARGET_FILE:${part}>\n")
endforeach()
string(APPEND script "SAVE\nEND\n")
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/bundle.mri CONTENT "${script}")
add_custom_command(OUTPUT ${bundle} COMMAND ${CMAKE_AR} -M < ${CMAKE_CURRENT_BINARY_DIR}/bundle.mri
  DEPENDS ${TRANSOM_RUNTIME_PARTS} VERBATIM)
add_custom_target(transom-static ALL DEPENDS ${bundle})

# The names that applications link to, here and in an installed tree.
add_library(transom::transom ALIAS transom-runtime-shared)
add_library(transom-static-interface INTERFACE)
add_dependencies(transom-static-interface transom-static)
target_include_directories(transom-static-interface INTERFACE ${PROJECT_SOURCE_DIR}/runtime/include)
target_link_libraries(transom-static-interface INTERFACE ${bundle} Threads::Threads ${CMAKE_DL_LIBS} stdc++ m)
add_library(transom::static ALIAS transom-static-interface)

set_target_properties(transom-runtime-shared PROPERTIES EXPORT_NAME transom)
install(TARGETS transom-runtime-shared EXPORT transom-runtime-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime)
install(FILES ${bundle} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/transom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/transom-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/transom COMPONENT runtime)
# All files in the component, for builds with single targets.
add_custom_target(runtime-component DEPENDS transom-runtime-shared transom-static)
foreach(major 2 3)
  if(TARGET transom-onednn-${major})
    add_dependencies(runtime-component transom-onednn-${major})
    install(TARGETS transom-onednn-${major} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
  endif()
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/transom)
install(EXPORT transom-runtime-targets NAMESPACE transom:: DESTINATION ${package} COMPONENT runtime)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/install/transom-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/transom-config.cmake INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_LIBDIR
  CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/transom-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/transom-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/transom-config-version.cmake
  DESTINATION ${package} COMPONENT runtime)
# The prefix in transom.pc is relative to the file, so that the tree may be moved.
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(PREPEND pc_prefix "\${pcfiledir}/")
endif()
foreach(folder LIBDIR INCLUDEDIR)
  string(TOLOWER pc_${folder} variable)
  set(${variable} ${CMAKE_INSTALL_${folder}})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_${folder}})
    string(PREPEND ${variable} "\${prefix}/")
  endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/install/transom.pc.in ${CMAKE_CURRENT_BINARY_DIR}/transom.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/transom.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
