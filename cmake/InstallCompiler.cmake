# Two components for `cmake --install`.
#
# The component 'tools': the command line transom with the compiler library, JSON schemas, the licence and the documents.
install(TARGETS transom RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(TARGETS transom-compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tools)
file(GLOB schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/reference/*.schema.json)
install(FILES ${PROJECT_SOURCE_DIR}/compiler/import/graphjson/graph.schema.json ${schemas}
  DESTINATION ${CMAKE_INSTALL_DATADIR}/transom COMPONENT tools)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)
add_custom_target(tools-component DEPENDS transom transom-compiler)

# The component 'compiler-dev': the files that an MLIR plug-in for the project's dialects needs. These are libtransom-compiler,
# the dialect and pass headers with their .td and generated files below include/transom-compiler, the programs transom,
# transom-opt, transom-reduce, transom-lsp-server and transom-check, and the CMake package 'transom' with this component.
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/transom-compiler)
install(TARGETS transom-compiler EXPORT transom-compiler-dev-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler-dev
  INCLUDES DESTINATION ${headers})
install(TARGETS transom transom-opt transom-reduce transom-lsp-server transom-check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler-dev)

# Includes are relative to the repository root, so the folder structure is preserved.
foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  foreach(folder dialects passes compiler/pipeline runtime/abi runtime/base)
    get_filename_component(parent ${folder} DIRECTORY)
    if(EXISTS ${root}/${folder})
      install(DIRECTORY ${root}/${folder} DESTINATION ${headers}/${parent} COMPONENT compiler-dev
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc" PATTERN "*.def" PATTERN CMakeFiles EXCLUDE)
    endif()
  endforeach()
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/transom)
install(EXPORT transom-compiler-dev-targets NAMESPACE transom:: DESTINATION ${package} COMPONENT compiler-dev)
file(RELATIVE_PATH tools /prefix/${package} /prefix/${CMAKE_INSTALL_BINDIR})
# Written here instead of in Install.cmake, where the first cmake run has not found MLIR yet.
configure_file(${PROJECT_SOURCE_DIR}/cmake/install/transom-compiler-dev-config.cmake.in
  ${PROJECT_BINARY_DIR}/transom-compiler-dev-config.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/transom-compiler-dev-config.cmake ${PROJECT_BINARY_DIR}/runtime/transom-config.cmake
  ${PROJECT_BINARY_DIR}/runtime/transom-config-version.cmake DESTINATION ${package} COMPONENT compiler-dev)
