# A service that lends books.
{ config, lib, pkgs, ... }:

let
  cfg = config.services.library;

  # Turns settings into a file.
  settingsFile = settings: pkgs.writeText "library.json" (builtins.toJSON settings);

  /* The packages of all
     languages. */
  readers = { languages ? [ "en" ], withFonts ? true }:
    let
      fonts = lib.optional withFonts pkgs.noto-fonts;
      readerOf = language: pkgs.callPackage ./reader.nix { inherit language; };
    in
    map readerOf languages ++ fonts;

  overlay = final: prev: {
    library-server = final.callPackage ./server { };
    library-client = prev.library-client.overrideAttrs (old: {
      patches = old.patches ++ [ ./client.patch ];
    });
  };

  inherit (lib) mkEnableOption mkIf mkOption types;
  helpers = import ./lib/helpers.nix { inherit lib; };
  port-default = 8080;
in
{
  imports = [
    ./hardware.nix
    ../common/users.nix
  ];

  options.services.library = {
    enable = mkEnableOption "the library";

    port = mkOption {
      type = types.port;
      default = port-default;
      description = "Where it listens; not ./a-path.";
    };

    shelves = mkOption {
      type = types.attrsOf types.str;
      default = { };
    };
  };

  config = mkIf cfg.enable {
    nixpkgs.overlays = [ overlay ];

    environment.systemPackages = readers { languages = [ "de" "fr" ]; };

    systemd.services.library = {
      description = "Lends books";
      wantedBy = [ "multi-user.target" ];
      serviceConfig = rec {
        User = "library";
        Group = User;
        ExecStart = "${pkgs.library-server}/bin/serve --port ${toString cfg.port}";
      };
      preStart = ''
        # Written by ${settingsFile cfg.shelves}
        mkdir -p /var/lib/library
        cp ${settingsFile cfg.shelves} "''${STATE}/shelves.json"
      '';
    };

    users.users.library = helpers.systemUser "library";
  };
}
